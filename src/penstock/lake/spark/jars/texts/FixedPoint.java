package penstock;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A double with so many digits after the point, rounded by the digits that it has in truth: 2.675 is a little less, so
 * 2.67. Java's own formats round the shortest text of a number, which is 2.68.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class FixedPoint {
    private static final double TOO_LARGE = 1e60;

    private FixedPoint() {}

    /** What lies between two texts becomes the one that is further from 0, as in ClickHouse's toDecimalString. */
    public static UTF8String halfUp(double value, int places) {
        if (Math.abs(value) >= TOO_LARGE && !Double.isInfinite(value)) {
            throw new ArithmeticException("a number of 1e60 and more has no text without an exponent");
        }
        return UTF8String.fromString(text(value, places, RoundingMode.HALF_UP));
    }

    /** What lies between two texts becomes the even one, as in C. */
    public static UTF8String halfEven(double value, int places) {
        return UTF8String.fromString(text(value, places, RoundingMode.HALF_EVEN));
    }

    private static String text(double value, int places, RoundingMode mode) {
        if (Double.isNaN(value)) {
            return "nan";
        }
        String sign = Double.doubleToRawLongBits(value) < 0 ? "-" : "";
        if (Double.isInfinite(value)) {
            return sign + "inf";
        }
        return sign + new BigDecimal(Math.abs(value)).setScale(places, mode).toPlainString();
    }
}
