package penstock;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.types.variant.Variant;
import org.apache.spark.types.variant.VariantUtil;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;

/**
 * One value of a JSON document as ClickHouse reads it: as text, or as an integer. A number with a fraction or an exponent
 * is the double next to it before it is anything else; whole numbers of 64 bits and texts of digits are exact.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class JsonValue {
    private static final UTF8String NOTHING = UTF8String.fromString("");
    private static final Pattern NUMBER = Pattern.compile("[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?");
    private static final FloatText FLOAT_TEXT = new FloatText();
    private static final double TWO_63 = 9.223372036854775808E18;
    private static final BigInteger LEAST_WHOLE = BigInteger.valueOf(Long.MIN_VALUE);
    private static final BigInteger MOST_WHOLE = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
    private static final int MOST_DIGITS = 20;

    private JsonValue() {}

    /** A string as it is, a number or a truth as JSON, nothing of a null; null for an array and an object. */
    public static UTF8String text(VariantVal given) {
        Variant value = new Variant(given.getValue(), given.getMetadata());
        VariantUtil.Type type = value.getType();
        if (type == VariantUtil.Type.STRING) {
            return UTF8String.fromString(value.getString());
        }
        if (type == VariantUtil.Type.OBJECT || type == VariantUtil.Type.ARRAY) {
            return null;
        }
        return UTF8String.fromString(shown(value, type));
    }

    private static String shown(Variant value, VariantUtil.Type type) {
        if (type == VariantUtil.Type.LONG) {
            return Long.toString(value.getLong());
        }
        if (type == VariantUtil.Type.BOOLEAN) {
            return value.getBoolean() ? "true" : "false";
        }
        if (type == VariantUtil.Type.DECIMAL) {
            BigDecimal number = value.getDecimal();
            return number.scale() <= 0 ? number.toPlainString() : floatText(Double.parseDouble(number.toString()));
        }
        if (type == VariantUtil.Type.DOUBLE) {
            double number = value.getDouble();
            return Double.isInfinite(number) ? "" : floatText(number);
        }
        return "";
    }

    private static String floatText(double number) {
        return (String) FLOAT_TEXT.call(Double.valueOf(number));
    }

    /** A number without its fraction, also that of a text that is one; null for what is none, or not between these. */
    public static Long integer(VariantVal given, long least, long most) {
        Variant value = new Variant(given.getValue(), given.getMetadata());
        if (value.getType() == VariantUtil.Type.LONG) {
            return within(BigInteger.valueOf(value.getLong()), least, most);
        }
        String number = numberText(value);
        if (number == null) {
            return null;
        }
        BigInteger whole = whole(number);
        if (whole != null) {
            return within(whole, least, most);
        }
        double near = Double.parseDouble(number);
        boolean fits = near >= least && (most == Long.MAX_VALUE ? near < TWO_63 : near <= most);
        return fits ? Long.valueOf((long) near) : null;
    }

    private static Long within(BigInteger number, long least, long most) {
        if (number.bitLength() > 63) {
            return null;
        }
        long found = number.longValue();
        return found < least || found > most ? null : Long.valueOf(found);
    }

    /** As an integer of 64 bits without a sign. */
    public static Decimal unsigned(VariantVal given) {
        String number = numberText(new Variant(given.getValue(), given.getMetadata()));
        if (number == null) {
            return null;
        }
        BigInteger whole = whole(number);
        if (whole == null) {
            double near = Double.parseDouble(number);
            if (!(near >= 0) || near >= 2 * TWO_63) {
                return null;
            }
            whole = new BigDecimal(near).toBigInteger();
        }
        return whole.signum() < 0 ? null : Decimal.apply(new BigDecimal(whole), MOST_DIGITS, 0);
    }

    /** A number as text; null for what is none. */
    private static String numberText(Variant value) {
        VariantUtil.Type type = value.getType();
        if (type == VariantUtil.Type.LONG) {
            return Long.toString(value.getLong());
        }
        if (type == VariantUtil.Type.DECIMAL) {
            return value.getDecimal().toPlainString();
        }
        if (type == VariantUtil.Type.DOUBLE) {
            double number = value.getDouble();
            return Double.isInfinite(number) ? null : Double.toString(number);
        }
        String text = type == VariantUtil.Type.STRING ? value.getString() : "";
        return NUMBER.matcher(text).matches() ? text : null;
    }

    /** A number that is written without a fraction and an exponent and has 64 bits; null for others. */
    private static BigInteger whole(String number) {
        if (number.indexOf('.') >= 0 || number.indexOf('e') >= 0 || number.indexOf('E') >= 0) {
            return null;
        }
        boolean signed = number.startsWith("+") || number.startsWith("-");
        int first = signed ? 1 : 0;
        while (first < number.length() - 1 && number.charAt(first) == '0') {
            first++;
        }
        if (number.length() - first > MOST_DIGITS) {
            return null;
        }
        BigInteger digits = new BigInteger(number.substring(first));
        BigInteger found = number.startsWith("-") ? digits.negate() : digits;
        return found.compareTo(LEAST_WHOLE) < 0 || found.compareTo(MOST_WHOLE) > 0 ? null : found;
    }
}
