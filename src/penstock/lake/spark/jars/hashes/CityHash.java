package penstock;

import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * CityHash64 of version 1.0.2, the one that ClickHouse uses, of the bytes of a text; the names are those of city.cc.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class CityHash {
    private static final long K0 = 0xC3A5C85C97CB3127L;
    private static final long K1 = 0xB492B66FBE98F273L;
    private static final long K2 = 0x9AE16A3B2F90404FL;
    private static final long K3 = 0xC949D7C7509E6557L;
    private static final long MUL = 0x9DDFEA08EB382D69L;
    private static final long LOW_HALF = 0xFFFFFFFFL;

    private CityHash() {}

    public static long hash(UTF8String text) {
        Object base = text.getBaseObject();
        long at = text.getBaseOffset();
        int length = text.numBytes();
        if (length <= 16) {
            return upTo16(base, at, length);
        }
        if (length <= 32) {
            return upTo32(base, at, length);
        }
        return length <= 64 ? upTo64(base, at, length) : over64(base, at, length);
    }

    /** Hash128to64: one hash of two. */
    public static long pair(long first, long second) {
        long a = shiftMix((first ^ second) * MUL);
        return shiftMix((second ^ a) * MUL) * MUL;
    }

    private static long shiftMix(long value) {
        return value ^ (value >>> 47);
    }

    private static long word(Object base, long at) {
        return Platform.getLong(base, at);
    }

    private static long half(Object base, long at) {
        return Platform.getInt(base, at) & LOW_HALF;
    }

    private static long upTo16(Object base, long at, int length) {
        if (length > 8) {
            long last = word(base, at + length - 8);
            return pair(word(base, at), Long.rotateRight(last + length, length)) ^ last;
        }
        if (length >= 4) {
            return pair(length + (half(base, at) << 3), half(base, at + length - 4));
        }
        if (length == 0) {
            return K2;
        }
        int first = Platform.getByte(base, at) & 255;
        int middle = Platform.getByte(base, at + (length >> 1)) & 255;
        int last = Platform.getByte(base, at + length - 1) & 255;
        return shiftMix((first + (middle << 8)) * K2 ^ (length + (last << 2)) * K3) * K2;
    }

    private static long upTo32(Object base, long at, int length) {
        long a = word(base, at) * K1;
        long b = word(base, at + 8);
        long c = word(base, at + length - 8) * K2;
        long d = word(base, at + length - 16) * K0;
        long mixed = Long.rotateRight(a - b, 43) + Long.rotateRight(c, 30) + d;
        return pair(mixed, a + Long.rotateRight(b ^ K3, 20) - c + length);
    }

    private static long upTo64(Object base, long at, int length) {
        long end = at + length;
        long z = word(base, at + 24);
        long a = word(base, at) + (length + word(base, end - 16)) * K0;
        long b = Long.rotateRight(a + z, 52);
        long c = Long.rotateRight(a, 37);
        a += word(base, at + 8);
        c += Long.rotateRight(a, 7);
        a += word(base, at + 16);
        long vf = a + z;
        long vs = b + Long.rotateRight(a, 31) + c;
        a = word(base, at + 16) + word(base, end - 32);
        z = word(base, end - 8);
        b = Long.rotateRight(a + z, 52);
        c = Long.rotateRight(a, 37);
        a += word(base, end - 24);
        c += Long.rotateRight(a, 7);
        a += word(base, end - 16);
        long wf = a + z;
        long ws = b + Long.rotateRight(a, 31) + c;
        long r = shiftMix((vf + ws) * K2 + (wf + vs) * K0);
        return shiftMix(r * K0 + vs) * K2;
    }

    private static long over64(Object base, long start, int length) {
        long end = start + length;
        long y = word(base, end - 16) ^ K1;
        long z = word(base, end - 56) ^ K0;
        Pair v = new Pair(base, end - 64, length, y);
        Pair w = new Pair(base, end - 32, length * K1, K0);
        z += shiftMix(v.second) * K1;
        long x = Long.rotateRight(z + word(base, start), 39) * K1;
        y = Long.rotateRight(y, 33) * K1;
        long last = start + ((length - 1) & ~63);
        for (long at = start; at < last; at += 64) {
            x = Long.rotateRight(x + y + v.first + word(base, at + 16), 37) * K1 ^ w.second;
            y = Long.rotateRight(y + v.second + word(base, at + 48), 42) * K1 ^ v.first;
            z = Long.rotateRight(z ^ w.first, 33);
            v.mix(base, at, v.second * K1, x + w.first);
            w.mix(base, at + 32, z + w.second, y);
            long former = z;
            z = x;
            x = former;
        }
        return pair(pair(v.first, w.first) + shiftMix(y) * K1 + z, pair(v.second, w.second) + x);
    }

    /** The two results of WeakHashLen32WithSeeds. */
    private static final class Pair {
        private long first;
        private long second;

        Pair(Object base, long at, long a, long b) {
            mix(base, at, a, b);
        }

        void mix(Object base, long at, long seedA, long seedB) {
            long last = word(base, at + 24);
            long begun = seedA + word(base, at);
            long turned = Long.rotateRight(seedB + begun + last, 21);
            long sum = begun + word(base, at + 8) + word(base, at + 16);
            first = sum + last;
            second = turned + Long.rotateRight(sum, 44) + begun;
        }
    }
}
