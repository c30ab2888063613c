package penstock;

import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012) with a key of zeros, as ClickHouse uses it, of the bytes of a text. Its 128
 * bits are not those of the authors' later variant.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class SipHash {
    private long v0 = 0x736F6D6570736575L;
    private long v1 = 0x646F72616E646F6DL;
    private long v2 = 0x6C7967656E657261L;
    private long v3 = 0x7465646279746573L;

    private SipHash(UTF8String text) {
        Object base = text.getBaseObject();
        long at = text.getBaseOffset();
        int length = text.numBytes();
        long end = at + length - length % 8;
        for (; at < end; at += 8) {
            compress(Platform.getLong(base, at));
        }
        long last = (long) length << 56;
        for (int i = 0; i < length % 8; i++) {
            last |= (Platform.getByte(base, end + i) & 255L) << (8 * i);
        }
        compress(last);
        v2 ^= 255L;
        for (int i = 0; i < 4; i++) {
            round();
        }
    }

    public static long hash(UTF8String text) {
        SipHash made = new SipHash(text);
        return made.v0 ^ made.v1 ^ made.v2 ^ made.v3;
    }

    /** The 16 bytes of the longer hash. */
    public static UTF8String longHash(UTF8String text) {
        SipHash made = new SipHash(text);
        return Hashes.pair(made.v0 ^ made.v1, made.v2 ^ made.v3);
    }

    private void compress(long word) {
        v3 ^= word;
        round();
        round();
        v0 ^= word;
    }

    private void round() {
        v0 += v1;
        v1 = Long.rotateLeft(v1, 13) ^ v0;
        v0 = Long.rotateLeft(v0, 32);
        v2 += v3;
        v3 = Long.rotateLeft(v3, 16) ^ v2;
        v0 += v3;
        v3 = Long.rotateLeft(v3, 21) ^ v0;
        v2 += v1;
        v1 = Long.rotateLeft(v1, 17) ^ v2;
        v2 = Long.rotateLeft(v2, 32);
    }
}
