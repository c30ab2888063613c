package penstock;

import org.apache.spark.sql.api.java.UDF1;

/**
 * A text with its ASCII letters in lower or upper case and every other byte as it is, also where the bytes are no UTF-8:
 * half of a letter that was cut stays that half.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class AsciiCase implements UDF1 {
    private static final int DISTANCE = 'a' - 'A';

    private final char first;

    private AsciiCase(char first) {
        this.first = first;
    }

    public static AsciiCase lower() {
        return new AsciiCase('A');
    }

    public static AsciiCase upper() {
        return new AsciiCase('a');
    }

    @Override
    public Object call(Object value) {
        if (value == null) {
            return null;
        }
        byte[] bytes = (byte[]) ((byte[]) value).clone();
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] >= first && bytes[i] <= first + 25) {
                bytes[i] = (byte) (bytes[i] ^ DISTANCE);
            }
        }
        return bytes;
    }
}
