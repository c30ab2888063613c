package penstock;

import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Digits of base 16 and 2 as the bytes that they write, with what ClickHouse makes of any other character: 255 as a
 * digit of base 16, 1 as one of base 2.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class ByteTexts {
    private static final int NO_DIGIT = 255;

    private ByteTexts() {}

    /** Two digits a byte; the first byte has one if their number is odd. */
    public static UTF8String ofHex(UTF8String text) {
        Object base = text.getBaseObject();
        long at = text.getBaseOffset();
        long end = at + text.numBytes();
        byte[] made = new byte[(text.numBytes() + 1) / 2];
        int size = 0;
        if (text.numBytes() % 2 == 1) {
            made[size++] = (byte) digit(Platform.getByte(base, at++));
        }
        for (; at < end; at += 2) {
            made[size++] = (byte) (digit(Platform.getByte(base, at)) * 16 + digit(Platform.getByte(base, at + 1)));
        }
        return UTF8String.fromBytes(made);
    }

    private static int digit(byte letter) {
        int value = letter < 0 ? -1 : Character.digit((char) letter, 16);
        return value < 0 ? NO_DIGIT : value;
    }

    /** Eight digits a byte; the first byte has those that are left over, and is left out if it is 0 and not alone. */
    public static UTF8String ofBinary(UTF8String text) {
        Object base = text.getBaseObject();
        long at = text.getBaseOffset();
        int over = text.numBytes() % 8;
        byte first = bits(base, at, over);
        boolean whole = over == 0 || (first == 0 && text.numBytes() > 8);
        byte[] made = new byte[text.numBytes() / 8 + (whole ? 0 : 1)];
        int size = 0;
        if (!whole) {
            made[size++] = first;
        }
        for (at += over; size < made.length; at += 8) {
            made[size++] = bits(base, at, 8);
        }
        return UTF8String.fromBytes(made);
    }

    private static byte bits(Object base, long at, int count) {
        int value = 0;
        for (int i = 0; i < count; i++) {
            value = value * 2 + (Platform.getByte(base, at + i) == '0' ? 0 : 1);
        }
        return (byte) value;
    }
}
