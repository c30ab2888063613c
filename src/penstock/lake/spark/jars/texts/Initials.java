package penstock;

import java.util.BitSet;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Words that begin with a capital letter, as ClickHouse's initcapUTF8 makes them. Bytes that are no UTF-8 stay, and end
 * a word.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class Initials {
    private static final int[] FIRST = cases(LetterCases.FIRST_CASES);
    private static final int[] INSIDE = cases(LetterCases.INSIDE_CASES);
    private static final BitSet GOES_ON_FIRST = ranges(LetterCases.GOES_ON_FIRST);
    private static final BitSet GOES_ON_INSIDE = ranges(LetterCases.GOES_ON_INSIDE);

    private Initials() {}

    /** What is added to each letter; letters behind the last one that changes have no place. */
    private static int[] cases(String rows) {
        String[] numbers = rows.split(" ");
        int[] added = new int[0];
        int code = 0;
        for (int i = 0; i < numbers.length; i += 4) {
            code += Integer.parseInt(numbers[i], 36);
            int many = Integer.parseInt(numbers[i + 1], 36);
            int step = Integer.parseInt(numbers[i + 2], 36);
            added = java.util.Arrays.copyOf(added, Math.max(added.length, code + (many - 1) * step + 1));
            for (int j = 0; j < many; j++) {
                added[code + j * step] = Integer.parseInt(numbers[i + 3], 36);
            }
        }
        return added;
    }

    private static BitSet ranges(String rows) {
        String[] numbers = rows.split(" ");
        BitSet found = new BitSet();
        int code = 0;
        for (int i = 0; i < numbers.length; i += 2) {
            code += Integer.parseInt(numbers[i], 36);
            found.set(code, code + Integer.parseInt(numbers[i + 1], 36));
        }
        return found;
    }

    public static UTF8String of(UTF8String text) {
        byte[] bytes = (byte[]) text.getBytes().clone();
        boolean inside = false;
        int at = 0;
        while (at < bytes.length) {
            int size = size(bytes, at);
            if (size == 0) {
                inside = false;
                at++;
                continue;
            }
            int code = read(bytes, at, size);
            int[] added = inside ? INSIDE : FIRST;
            if (code < added.length && added[code] != 0) {
                write(bytes, at, size, code + added[code]);
            }
            inside = (inside ? GOES_ON_INSIDE : GOES_ON_FIRST).get(code);
            at += size;
        }
        return UTF8String.fromBytes(bytes);
    }

    /** So many bytes are the letter here; 0 if they are none. */
    private static int size(byte[] bytes, int at) {
        int lead = bytes[at] & 255;
        if (lead < 0x80) {
            return 1;
        }
        int size = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        if (size == 0 || at + size > bytes.length) {
            return 0;
        }
        for (int i = 1; i < size; i++) {
            if ((bytes[at + i] & 0xc0) != 0x80) {
                return 0;
            }
        }
        int code = read(bytes, at, size);
        boolean tooLong = code < (size == 4 ? 0x10000 : size == 3 ? 0x800 : 0x80);
        return tooLong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : size;
    }

    private static int read(byte[] bytes, int at, int size) {
        int code = bytes[at] & (size == 1 ? 0x7f : 0x7f >> size);
        for (int i = 1; i < size; i++) {
            code = (code << 6) | (bytes[at + i] & 0x3f);
        }
        return code;
    }

    /** Each letter becomes one of as many bytes. */
    private static void write(byte[] bytes, int at, int size, int code) {
        for (int i = size - 1; i > 0; i--) {
            bytes[at + i] = (byte) (0x80 | (code & 0x3f));
            code >>= 6;
        }
        bytes[at] = (byte) (size == 1 ? code : (0xf00 >> size) & 0xff | code);
    }
}
