package penstock;

import com.fasterxml.jackson.core.io.schubfach.DoubleToDecimal;
import com.fasterxml.jackson.core.io.schubfach.FloatToDecimal;
import org.apache.spark.sql.api.java.UDF1;

/**
 * The text of a Double or a Float as ClickHouse writes it: the fewest digits that tell it from its neighbours (Java does
 * so from version 19 on only; Jackson, which Spark brings, does with every Java), and an exponent below 1e-6 and from
 * 1e21 on.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class FloatText implements UDF1 {
    private static final int LOWEST_PLAIN = -6;
    private static final int LEAST_WITH_EXPONENT = 21;

    @Override
    public Object call(Object value) {
        if (value == null) {
            return null;
        }
        if (value instanceof Float) {
            float number = ((Float) value).floatValue();
            String java = FloatToDecimal.toString(number);
            String shorter = Math.abs(number) < Float.MIN_NORMAL ? withOneDigit(java) : java;
            return text(shorter.equals(java) || Float.parseFloat(shorter) == number ? shorter : java);
        }
        double number = ((Double) value).doubleValue();
        String java = DoubleToDecimal.toString(number);
        String shorter = Math.abs(number) < Double.MIN_NORMAL ? withOneDigit(java) : java;
        return text(shorter.equals(java) || Double.parseDouble(shorter) == number ? shorter : java);
    }

    /** Java writes two digits at least: 4.9E-324 where 5E-324 is the same number. */
    private static String withOneDigit(String java) {
        int mark = java.indexOf('E');
        int first = java.startsWith("-") ? 1 : 0;
        if (mark != first + 3) {
            return java;
        }
        int tenths = (java.charAt(first) - '0') * 10 + java.charAt(first + 2) - '0';
        int exponent = Integer.parseInt(java.substring(mark + 1));
        int digit = (tenths + 5) / 10;
        String shown = digit == 10 ? "1.0E" + (exponent + 1) : digit + ".0E" + exponent;
        return java.substring(0, first) + shown;
    }

    /** Java's form of a number, such as 1.0E-7 or 12.5, in ClickHouse's. */
    private static String text(String java) {
        if (java.equals("NaN")) {
            return "nan";
        }
        if (java.endsWith("Infinity")) {
            return java.startsWith("-") ? "-inf" : "inf";
        }
        int mark = java.indexOf('E');
        String number = withoutZero(mark < 0 ? java : java.substring(0, mark));
        if (mark < 0) {
            return number;
        }
        int exponent = Integer.parseInt(java.substring(mark + 1));
        if (exponent < LOWEST_PLAIN || exponent >= LEAST_WITH_EXPONENT) {
            return number + "e" + exponent;
        }
        return plain(number, exponent);
    }

    private static String withoutZero(String number) {
        return number.endsWith(".0") ? number.substring(0, number.length() - 2) : number;
    }

    /** A number with one digit before the point, times a power of ten, written without it. */
    private static String plain(String number, int exponent) {
        String sign = number.startsWith("-") ? "-" : "";
        StringBuilder digits = new StringBuilder();
        for (int i = sign.length(); i < number.length(); i++) {
            if (number.charAt(i) != '.') {
                digits.append(number.charAt(i));
            }
        }
        if (exponent < 0) {
            return sign + "0." + zeros(-exponent - 1) + digits;
        }
        int point = exponent + 1;
        if (digits.length() <= point) {
            return sign + digits + zeros(point - digits.length());
        }
        return sign + digits.substring(0, point) + "." + digits.substring(point);
    }

    private static String zeros(int count) {
        StringBuilder found = new StringBuilder();
        for (int i = 0; i < count; i++) {
            found.append('0');
        }
        return found.toString();
    }
}
