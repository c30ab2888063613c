package penstock;

import com.google.common.hash.Hashing;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * FarmHash of version 1.1 (Pike, 2014) of the bytes of a text: its fingerprint, which Guava has, and its Hash64, which
 * has functions of its own from 33 bytes on. Of 512 bytes and more Hash64 is another one on each kind of processor, so
 * that it is refused.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class FarmHash {
    private static final long K1 = 0xB492B66FBE98F273L;
    private static final long K2 = 0x9AE16A3B2F90404FL;
    private static final long PAIR_FACTOR = 0x9DDFEA08EB382D69L;
    private static final int OF_PROCESSOR = 512;

    private FarmHash() {}

    public static long fingerprint(UTF8String text) {
        return Hashing.farmHashFingerprint64().hashBytes(text.getBytes()).asLong();
    }

    public static long hash(UTF8String text) {
        int length = text.numBytes();
        if (length >= OF_PROCESSOR) {
            throw new ArithmeticException("farmHash64 of " + length + " bytes: that of 512 bytes and more depends on"
                + " the processor, write farmFingerprint64(...)");
        }
        if (length > 256) {
            return new LongText(text).hash();
        }
        if (length <= 32 || length > 96) {
            return fingerprint(text);
        }
        return length <= 64 ? upTo64(text, length) : upTo96(text, length);
    }

    /** The fingerprint of two. */
    public static long pair(long first, long second) {
        long a = shiftMix((first ^ second) * PAIR_FACTOR);
        long b = (second ^ a) * PAIR_FACTOR;
        b = (b ^ (b >>> 44)) * PAIR_FACTOR;
        return (b ^ (b >>> 41)) * PAIR_FACTOR;
    }

    private static long upTo64(UTF8String text, int length) {
        long firstFactor = K2 - 30;
        long lastFactor = firstFactor + 2L * length;
        long first = block(text, 0, firstFactor, 0L, 0L);
        return (block(text, length - 32, lastFactor, 0L, 0L) * lastFactor + first) * lastFactor;
    }

    private static long upTo96(UTF8String text, int length) {
        long firstFactor = K2 - 114;
        long lastFactor = firstFactor + 2L * length;
        long first = block(text, 0, firstFactor, 0L, 0L);
        long second = block(text, 32, lastFactor, 0L, 0L);
        long last = block(text, length - 32, lastFactor, first, second);
        return (last * 9 + (first >>> 17) + (second >>> 21)) * lastFactor;
    }

    /** What 32 bytes from a place on give. */
    private static long block(UTF8String text, int from, long factor, long firstSeed, long secondSeed) {
        long a = word(text, from) * K1;
        long b = word(text, from + 8);
        long c = word(text, from + 24) * factor;
        long d = word(text, from + 16) * K2;
        long u = Long.rotateRight(a + b, 43) + Long.rotateRight(c, 30) + d + firstSeed;
        long v = a + Long.rotateRight(b + K2, 18) + c + secondSeed;
        return shiftMix((v ^ shiftMix((u ^ v) * factor)) * factor);
    }

    private static long shiftMix(long value) {
        return value ^ (value >>> 47);
    }

    private static long word(UTF8String text, int at) {
        return Platform.getLong(text.getBaseObject(), text.getBaseOffset() + at);
    }

    /** The state that goes through a text of more than 256 bytes, 64 bytes at a time; the names are those of the paper. */
    private static final class LongText {
        private static final long SEED = 81L;

        private final UTF8String text;
        private final int length;
        private final long factor;
        private long u;
        private long x = SEED * K2;
        private long y = 113L;
        private long z = shiftMix(113L * K2) * K2;
        private long v0 = SEED;
        private long v1 = 0L;
        private long w0 = 0L;
        private long w1 = 0L;

        LongText(UTF8String text) {
            this.text = text;
            this.length = text.numBytes();
            this.u = SEED - z;
            this.factor = K2 + (u & 0x82L);
        }

        long hash() {
            int end = (length - 1) / 64 * 64;
            for (int at = 0; at < end; at += 64) {
                takeSums(at);
                takeAgain(at);
            }
            return last(length - 64);
        }

        private void takeSums(int at) {
            x = Long.rotateRight(x + word(text, at) + word(text, at + 8), 26) * 9;
            y = Long.rotateRight(y + word(text, at + 16), 29);
            z = (z + word(text, at + 24)) * factor;
            v0 = Long.rotateRight(v0 + word(text, at + 32), 33);
            v1 = Long.rotateRight(v1 + word(text, at + 40) + word(text, at + 8), 30);
            w0 = ((w0 + word(text, at + 48)) ^ x) * 9;
            w1 += word(text, at + 56);
            z = Long.rotateRight(z, 32) + w1;
            w1 += z;
            z *= 9;
            long other = u;
            u = y;
            y = other;
        }

        private void takeAgain(int at) {
            z += word(text, at) + word(text, at + 48);
            v0 += word(text, at + 16);
            v1 += word(text, at + 24);
            w0 += word(text, at + 32);
            w1 += word(text, at + 40) + word(text, at + 48);
            x += word(text, at + 8);
            y += word(text, at + 56) + v0;
            v0 += x - y;
            v1 += w0;
            w0 += v1;
            w1 += x - y;
            x += w1;
            w1 = Long.rotateRight(w1, 34);
            long other = u;
            u = z;
            z = other;
        }

        /** Takes the last 64 bytes, of which some were taken before. */
        private long last(int at) {
            u = u * 9 + y;
            v1 = Long.rotateRight(v1, 28);
            v0 = Long.rotateRight(v0, 20);
            w0 += (length - 1) & 63;
            y += u;
            x = Long.rotateRight(y - x + v0 + word(text, at + 8), 37) * factor;
            y = Long.rotateRight(y ^ v1 ^ word(text, at + 48), 42) * factor;
            x ^= w1 * 9;
            y += v0 + word(text, at + 40);
            z = Long.rotateRight(z + w0, 33) * factor;
            long[] v = halves(at, v1 * factor, x + w0);
            long[] w = halves(at + 32, z + w1, y + word(text, at + 16));
            long mixed = pair(v[0] + x, w[0] ^ y, factor) + z - u;
            return rotated(mixed, rotated(v[1] + y, w[1] + z, 30) ^ x, 31);
        }

        /** What 32 bytes from a place on make of two numbers. */
        private long[] halves(int at, long first, long second) {
            long start = first + word(text, at);
            long sum = start + word(text, at + 8) + word(text, at + 16);
            long turned = Long.rotateRight(second + start + word(text, at + 24), 21);
            return new long[] {sum + word(text, at + 24), turned + Long.rotateRight(sum, 44) + start};
        }

        private static long pair(long first, long second, long factor) {
            long a = shiftMix((first ^ second) * factor);
            return shiftMix((second ^ a) * factor) * factor;
        }

        private static long rotated(long first, long second, int bits) {
            long a = shiftMix((first ^ second) * K2);
            return Long.rotateRight((second ^ a) * K2, bits) * K2;
        }
    }
}
