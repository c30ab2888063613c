package penstock;

import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * JSON as Spark writes it with the letters as ClickHouse writes them: one beyond 16 bits is itself, not a pair of
 * escapes; the separators of lines and paragraphs (U+2028, U+2029) are escaped.
 *
 * A text without any of these is given back as it is. scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class JsonLetters {
    private JsonLetters() {}

    public static UTF8String of(UTF8String given) {
        byte[] bytes = given.getBytes();
        if (!mayDiffer(bytes)) {
            return given;
        }
        String text = new String(bytes, StandardCharsets.UTF_8);
        StringBuilder made = new StringBuilder(text.length());
        int at = 0;
        while (at < text.length()) {
            char letter = text.charAt(at);
            int high = letter == '\\' ? unit(text, at) : -1;
            if (high >= 0xD800 && high < 0xDC00) {
                made.append((char) high).append((char) unit(text, at + 6));
                at += 12;
            } else if (letter == '\\') {
                made.append(text, at, at + 2);
                at += 2;
            } else {
                made.append(shown(letter));
                at++;
            }
        }
        return UTF8String.fromString(made.toString());
    }

    private static String shown(char letter) {
        if (letter == 0x2028) {
            return "\\u" + "2028";
        }
        return letter == 0x2029 ? "\\u" + "2029" : String.valueOf(letter);
    }

    /** Whether there is an escape of 16 bits from D000 on, or the bytes of a separator. */
    private static boolean mayDiffer(byte[] text) {
        for (int i = 0; i + 2 < text.length; i++) {
            boolean pair = text[i] == '\\' && text[i + 1] == 'u' && (text[i + 2] == 'D' || text[i + 2] == 'd');
            boolean separator = text[i] == (byte) 0xE2 && text[i + 1] == (byte) 0x80
                    && (text[i + 2] == (byte) 0xA8 || text[i + 2] == (byte) 0xA9);
            if (pair || separator) {
                return true;
            }
        }
        return false;
    }

    /** The 16 bits of the escape at a place; -1 where there is none. */
    private static int unit(String text, int at) {
        boolean escape = at + 6 <= text.length() && text.charAt(at) == '\\' && text.charAt(at + 1) == 'u';
        return escape ? Integer.parseInt(text.substring(at + 2, at + 6), 16) : -1;
    }
}
