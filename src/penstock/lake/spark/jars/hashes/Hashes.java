package penstock;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.UUID;
import org.apache.commons.codec.digest.DigestUtils;
import org.apache.commons.codec.digest.MurmurHash2;
import org.apache.commons.codec.digest.MurmurHash3;
import org.apache.commons.codec.digest.XXHash32;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Hashes of the bytes of a text, as ClickHouse has them, and the bytes of other values, the least significant first.
 * What Spark brings (Commons Codec) is called.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class Hashes {
    private static final long INT_HASH_SEED = 0x4CF2D2BAAE6DA887L;
    private static final long SHORT_INT_HASH_SEED = 0x75D9543DE018BF45L;
    private static final int GCC_SEED = 0xC70F6907;
    private static final int KAFKA_SEED = 0x9747B28C;
    private static final long LOW_HALF = 0xFFFFFFFFL;
    private static final BigInteger TWO_64 = BigInteger.ONE.shiftLeft(64);

    private Hashes() {}

    /** ClickHouse's IntHash64Impl: the finalizer of MurmurHash3 on the number XORed with a seed. */
    public static long ofNumber(long bits) {
        long x = bits ^ INT_HASH_SEED;
        x = (x ^ (x >>> 33)) * 0xFF51AFD7ED558CCDL;
        x = (x ^ (x >>> 33)) * 0xC4CEB9FE1A85EC53L;
        return x ^ (x >>> 33);
    }

    /** ClickHouse's IntHash32Impl, which is Thomas Wang's with a seed. */
    public static long shortOfNumber(long bits) {
        long x = bits ^ SHORT_INT_HASH_SEED;
        x = ~x + (x << 18);
        x ^= Long.rotateRight(x, 31);
        x *= 21;
        x ^= Long.rotateRight(x, 11);
        x += x << 6;
        x ^= Long.rotateRight(x, 22);
        return x & LOW_HALF;
    }

    public static long murmur2(UTF8String text) {
        byte[] bytes = text.getBytes();
        return MurmurHash2.hash64(bytes, bytes.length, 0);
    }

    public static long shortMurmur2(UTF8String text) {
        byte[] bytes = text.getBytes();
        return MurmurHash2.hash32(bytes, bytes.length, 0) & LOW_HALF;
    }

    /** What GCC's standard library makes of a text. */
    public static long gccMurmur(UTF8String text) {
        byte[] bytes = text.getBytes();
        return MurmurHash2.hash64(bytes, bytes.length, GCC_SEED);
    }

    /** What the default partitioner of Kafka makes of a key. */
    public static long kafkaMurmur(UTF8String text) {
        byte[] bytes = text.getBytes();
        return MurmurHash2.hash32(bytes, bytes.length, KAFKA_SEED) & Integer.MAX_VALUE;
    }

    public static long murmur3(UTF8String text) {
        long[] halves = MurmurHash3.hash128x64(text.getBytes());
        return halves[0] ^ halves[1];
    }

    public static long shortMurmur3(UTF8String text) {
        return MurmurHash3.hash32x86(text.getBytes()) & LOW_HALF;
    }

    public static UTF8String longMurmur3(UTF8String text) {
        long[] halves = MurmurHash3.hash128x64(text.getBytes());
        return pair(halves[0], halves[1]);
    }

    public static long xx(UTF8String text) {
        return XXH64.hashUnsafeBytes(text.getBaseObject(), text.getBaseOffset(), text.numBytes(), 0L);
    }

    public static long shortXx(UTF8String text) {
        byte[] bytes = text.getBytes();
        XXHash32 hash = new XXHash32();
        hash.update(bytes, 0, bytes.length);
        return hash.getValue();
    }

    /** The first half of an MD5. */
    public static long halfMd5(UTF8String text) {
        return ByteBuffer.wrap(DigestUtils.md5(text.getBytes())).getLong();
    }

    /** Java's String.hashCode, over signed bytes. */
    public static int ofJava(UTF8String text) {
        Object base = text.getBaseObject();
        long end = text.getBaseOffset() + text.numBytes();
        int hash = 0;
        for (long at = text.getBaseOffset(); at < end; at++) {
            hash = 31 * hash + Platform.getByte(base, at);
        }
        return hash;
    }

    /** The lowest bytes of a number; zeros after the eighth. */
    public static UTF8String bytes(long number, int size) {
        byte[] made = new byte[size];
        for (int i = 0; i < Math.min(size, 8); i++) {
            made[i] = (byte) (number >>> (8 * i));
        }
        return UTF8String.fromBytes(made);
    }

    /** The bytes of two numbers. */
    public static UTF8String pair(long first, long second) {
        byte[] made = new byte[16];
        Platform.putLong(made, Platform.BYTE_ARRAY_OFFSET, first);
        Platform.putLong(made, Platform.BYTE_ARRAY_OFFSET + 8, second);
        return UTF8String.fromBytes(made);
    }

    /** The 16 bytes of a UUID: its halves. */
    public static UTF8String bytes(UTF8String shown) {
        UUID parsed = UUID.fromString(shown.toString());
        return pair(parsed.getMostSignificantBits(), parsed.getLeastSignificantBits());
    }

    /** A decimal without its point, in so many bytes. */
    public static UTF8String bytes(Decimal number, int size) {
        byte[] digits = number.toJavaBigDecimal().unscaledValue().toByteArray();
        byte[] made = new byte[size];
        byte sign = (byte) (digits[0] < 0 ? -1 : 0);
        for (int i = 0; i < size; i++) {
            made[i] = i < digits.length ? digits[digits.length - 1 - i] : sign;
        }
        return UTF8String.fromBytes(made);
    }

    /** The bits of a float; every NaN has the same. */
    public static long bits(double number) {
        return Double.doubleToLongBits(number);
    }

    public static long bits(float number) {
        return Float.floatToIntBits(number) & LOW_HALF;
    }

    /** The bits of an unsigned number. */
    public static long bits(Decimal number) {
        return number.toJavaBigInteger().longValue();
    }

    /** Bits as an unsigned number. A Decimal holds no long of more than 18 digits: Spark takes that for an overflow. */
    public static Decimal unsigned(long bits) {
        if (bits >= 0) {
            return Decimal.apply(bits, 20, 0);
        }
        return Decimal.apply(new BigDecimal(BigInteger.valueOf(bits).add(TWO_64)), 20, 0);
    }
}
