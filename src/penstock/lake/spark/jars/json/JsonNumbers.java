package penstock;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The JSON of an object or array with its numbers as ClickHouse writes them: a Float by the fewest digits that tell it
 * from its neighbours (1.0E30 is 1e30, 1.50 is 1.5, 2.0 is 2), an integer of more than 64 bits as a string.
 *
 * A text without such a number is given back as it is. scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class JsonNumbers {
    private static final Pattern TOKEN = Pattern.compile("\"(?:[^\"\\\\]|\\\\.)*+\"|-?[0-9][0-9.eE+-]*+", Pattern.DOTALL);
    private static final int MOST_SURE_DIGITS = 18;
    private static final BigInteger LEAST = BigInteger.valueOf(Long.MIN_VALUE);
    private static final BigInteger MOST = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);

    private JsonNumbers() {}

    public static UTF8String of(UTF8String given) {
        byte[] bytes = given.getBytes();
        if (!mayDiffer(bytes)) {
            return given;
        }
        String text = new String(bytes, StandardCharsets.UTF_8);
        StringBuilder made = new StringBuilder(text.length());
        Matcher token = TOKEN.matcher(text);
        int at = 0;
        while (token.find()) {
            made.append(text, at, token.start());
            String written = token.group();
            made.append(written.charAt(0) == '"' ? written : shown(written));
            at = token.end();
        }
        return UTF8String.fromString(made.append(text, at, text.length()).toString());
    }

    private static String shown(String number) {
        if (number.indexOf('.') >= 0 || number.indexOf('e') >= 0 || number.indexOf('E') >= 0) {
            return new FloatText().call(Double.valueOf(number)).toString();
        }
        if (number.length() <= MOST_SURE_DIGITS) {
            return number;
        }
        BigInteger whole = new BigInteger(number);
        return whole.compareTo(LEAST) < 0 || whole.compareTo(MOST) > 0 ? '"' + number + '"' : number;
    }

    /** Whether a digit stands before a point or an exponent, or in a long row of digits; also inside of strings. */
    private static boolean mayDiffer(byte[] text) {
        int digits = 0;
        for (int i = 0; i < text.length; i++) {
            boolean digit = text[i] >= '0' && text[i] <= '9';
            if (digits > 0 && (text[i] == '.' || text[i] == 'e' || text[i] == 'E')) {
                return true;
            }
            digits = digit ? digits + 1 : 0;
            if (digits > MOST_SURE_DIGITS) {
                return true;
            }
        }
        return false;
    }
}
