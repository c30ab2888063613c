package penstock;

import java.io.ByteArrayOutputStream;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Digits of base 16 and 2 as the bytes that they write, with what ClickHouse makes of any other character: 255 as a
 * digit of base 16, 1 as one of base 2. Bytes that are no UTF-8 as the letter for that, as its toValidUTF8 does.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class ByteTexts {
    private static final int NO_DIGIT = 255;
    private static final byte[] REPLACEMENT = new byte[] {(byte) 0xEF, (byte) 0xBF, (byte) 0xBD};

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

    /**
     * U+FFFD once for bytes beside each other that belong to no letter. A letter that is not whole ends the text, whatever
     * is behind its first byte.
     */
    public static UTF8String valid(UTF8String text) {
        byte[] bytes = text.getBytes();
        ByteArrayOutputStream made = new ByteArrayOutputStream(bytes.length + REPLACEMENT.length);
        boolean replaced = false;
        for (int at = 0; at < bytes.length; ) {
            int size = letterSize(bytes[at] & 255);
            boolean known = size > 0 && at + size <= bytes.length && isLetter(bytes, at, size);
            if (known) {
                made.write(bytes, at, size);
            } else if (!replaced) {
                made.write(REPLACEMENT, 0, REPLACEMENT.length);
            }
            replaced = !known;
            at = known ? at + size : size > 0 && at + size > bytes.length ? bytes.length : at + 1;
        }
        return UTF8String.fromBytes(made.toByteArray());
    }

    /** How many bytes the first byte of a letter announces; 0 if it is none. */
    private static int letterSize(int first) {
        return first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 0;
    }

    private static boolean isLetter(byte[] bytes, int at, int size) {
        for (int i = 1; i < size; i++) {
            if ((bytes[at + i] & 0xC0) != 0x80) {
                return false;
            }
        }
        int first = bytes[at] & 255;
        int second = size > 1 ? bytes[at + 1] & 255 : 0;
        return first != 0xC0 && first != 0xC1 && first <= 0xF4
            && !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second > 0x9F)
            && !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second > 0x8F);
    }
}
