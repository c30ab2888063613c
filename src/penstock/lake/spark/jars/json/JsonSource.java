package penstock;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * A text of JSON as Spark's parser has to read it to see what ClickHouse's sees: null if a number is too large for a
 * double, a letter is escaped by half or something follows the document, which make it invalid; a whole number of more than 64 bits as a string; and
 * a zero below zero with an exponent, without which Spark takes it for a decimal, that has no such zero.
 *
 * Whether the rest is JSON is left to the parser. A text without any of these is given back as it is, after one look at
 * each of its bytes.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class JsonSource {
    private static final int FEWEST_DIGITS_OF_TOO_LARGE = 18;
    private static final int FEWEST_DIGITS_OF_INFINITE = 300;
    private static final java.util.regex.Pattern NUMBER =
            java.util.regex.Pattern.compile("-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?");
    private static final java.util.regex.Pattern ZERO = java.util.regex.Pattern.compile("-0[.]0+");
    private static final java.math.BigInteger LEAST = java.math.BigInteger.valueOf(Long.MIN_VALUE);
    private static final java.math.BigInteger GREATEST =
            java.math.BigInteger.ONE.shiftLeft(64).subtract(java.math.BigInteger.ONE);

    private final byte[] text;
    private int at = 0;
    private int depth = 0;
    private java.io.ByteArrayOutputStream made = null;
    private int copied = 0;

    private JsonSource(byte[] text) {
        this.text = text;
    }

    public static UTF8String of(UTF8String text) {
        JsonSource source = new JsonSource(text.getBytes());
        if (!source.walk()) {
            return null;
        }
        return source.made == null ? text : UTF8String.fromBytes(source.rewritten());
    }

    /** Whether the text may be one document. */
    private boolean walk() {
        boolean ended = false;
        while (at < text.length) {
            byte letter = text[at];
            if (letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r') {
                at++;
                continue;
            }
            if (ended) {
                return false;
            }
            if (!step(letter)) {
                return false;
            }
            ended = depth <= 0;
        }
        return ended;
    }

    /** One bracket, string, number, word or mark; false for a number that no double holds. */
    private boolean step(byte letter) {
        switch (letter) {
            case '{':
            case '[':
                depth++;
                at++;
                return true;
            case '}':
            case ']':
                depth--;
                at++;
                return true;
            case '"':
                return skipString();
            case ',':
            case ':':
                at++;
                return true;
            default:
                int start = at;
                while (at < text.length && !ends(text[at])) {
                    at++;
                }
                boolean number = letter == '-' || (letter >= '0' && letter <= '9');
                return !number || takeNumber(start);
        }
    }

    private static boolean ends(byte letter) {
        return letter == ',' || letter == '}' || letter == ']' || letter == ' ' || letter == '\n' || letter == '\t'
                || letter == '\r' || letter == ':' || letter == '"' || letter == '{' || letter == '[';
    }

    /** False for half of a pair of escapes that stand for one letter beyond 16 bits. */
    private boolean skipString() {
        at++;
        while (at < text.length && text[at] != '"') {
            if (text[at] != '\\') {
                at++;
                continue;
            }
            int unit = escaped(at);
            boolean first = unit >= 0xD800 && unit < 0xDC00;
            int second = first ? escaped(at + 6) : 0;
            if ((first && (second < 0xDC00 || second > 0xDFFF)) || (unit >= 0xDC00 && unit <= 0xDFFF)) {
                return false;
            }
            at += first ? 12 : 2;
        }
        at++;
        return true;
    }

    /** The 16 bits that an escape like \\u00e9 stands for; -1 where there is none. */
    private int escaped(int place) {
        if (place + 5 >= text.length || text[place] != '\\' || text[place + 1] != 'u') {
            return -1;
        }
        int unit = 0;
        for (int i = place + 2; i < place + 6; i++) {
            int digit = Character.digit((char) text[i], 16);
            if (digit < 0) {
                return -1;
            }
            unit = unit * 16 + digit;
        }
        return unit;
    }

    private boolean takeNumber(int start) {
        int length = at - start;
        boolean whole = true;
        boolean exponent = false;
        boolean zero = text[start] == '-';
        for (int i = start; i < at; i++) {
            whole &= text[i] == '-' || (text[i] >= '0' && text[i] <= '9');
            exponent |= text[i] == 'e' || text[i] == 'E';
            zero &= text[i] == '-' || text[i] == '0' || text[i] == '.';
        }
        boolean plain = whole ? length <= FEWEST_DIGITS_OF_TOO_LARGE : !exponent && length < FEWEST_DIGITS_OF_INFINITE;
        if (plain && (!zero || whole)) {
            return true;
        }
        return takeOdd(new String(text, start, length, java.nio.charset.StandardCharsets.ISO_8859_1), start, whole);
    }

    /** A number that may be one of those that are written otherwise. */
    private boolean takeOdd(String number, int start, boolean whole) {
        if (!NUMBER.matcher(number).matches()) {
            return true;
        }
        if (whole) {
            java.math.BigInteger value = new java.math.BigInteger(number);
            if (value.compareTo(LEAST) < 0 || value.compareTo(GREATEST) > 0) {
                replace(start, '"' + number + '"');
            }
            return true;
        }
        if (ZERO.matcher(number).matches()) {
            replace(start, number + "e0");
        }
        return !Double.isInfinite(Double.parseDouble(number));
    }

    private void replace(int start, String number) {
        if (made == null) {
            made = new java.io.ByteArrayOutputStream(text.length + 16);
        }
        made.write(text, copied, start - copied);
        byte[] bytes = number.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
        made.write(bytes, 0, bytes.length);
        copied = at;
    }

    private byte[] rewritten() {
        made.write(text, copied, text.length - copied);
        return made.toByteArray();
    }
}
