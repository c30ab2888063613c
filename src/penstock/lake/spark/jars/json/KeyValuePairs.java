package penstock;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The pairs in a text like `name:penstock, "two words":"a b"`, as ClickHouse's extractKeyValuePairs finds them. What is no
 * pair is passed over. Bytes are compared, since all signs of the syntax are ASCII.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class KeyValuePairs {
    private final byte[] text;
    private final byte delimiter;
    private final byte[] ends;
    private final byte quote;
    /** What a quote inside of a bare key or value does: it ends the pair (I), belongs to the text (A), or begins it (P). */
    private final byte strange;
    private final ArrayList pairs = new ArrayList();
    private int at = 0;
    private UTF8String key = null;

    private KeyValuePairs(byte[] text, UTF8String delimiter, UTF8String ends, UTF8String quote, UTF8String strange) {
        this.text = text;
        this.delimiter = delimiter.getByte(0);
        this.ends = ends.getBytes();
        this.quote = quote.getByte(0);
        this.strange = strange.getByte(0);
    }

    /** Key and value of each pair, in order; a key may come more than once. */
    public static ArrayData of(
            UTF8String text, UTF8String delimiter, UTF8String ends, UTF8String quote, UTF8String strange) {
        KeyValuePairs found = new KeyValuePairs(text.getBytes(), delimiter, ends, quote, strange);
        while (found.skipToKey()) {
            if (found.readKey()) {
                found.readValue();
            }
        }
        return new GenericArrayData(found.pairs.toArray());
    }

    private boolean skipToKey() {
        while (at < text.length && (text[at] == delimiter || isEnd(text[at]))) {
            at++;
        }
        return at < text.length;
    }

    /** Whether a key and its delimiter were read. */
    private boolean readKey() {
        if (text[at] == quote) {
            at++;
            return readQuotedKey();
        }
        for (int start = at; at < text.length; at++) {
            if (text[at] == delimiter) {
                key = part(start, at++);
                return true;
            }
            if (isEnd(text[at])) {
                at++;
                return false;
            }
            if (text[at] == quote && strange != 'A') {
                at++;
                return strange == 'P' && readQuotedKey();
            }
        }
        return false;
    }

    private boolean readQuotedKey() {
        int start = at;
        if (!skipQuoted() || at - 1 == start) {
            return false;
        }
        key = part(start, at - 1);
        if (at < text.length && text[at] == delimiter) {
            at++;
            return true;
        }
        return false;
    }

    private void readValue() {
        if (at < text.length && text[at] == quote) {
            at++;
            readQuotedValue();
            return;
        }
        for (int start = at; ; at++) {
            if (at >= text.length || isEnd(text[at])) {
                add(part(start, at));
                return;
            }
            if (text[at] == quote && strange != 'A') {
                at++;
                if (strange == 'P') {
                    readQuotedValue();
                }
                return;
            }
        }
    }

    /** What follows the quotes, up to the end of the pair, is left out. */
    private void readQuotedValue() {
        int start = at;
        if (!skipQuoted()) {
            return;
        }
        add(part(start, at - 1));
        while (at < text.length && !isEnd(text[at])) {
            at++;
        }
    }

    /** Moves behind the next quote; without one, to the end of the text. */
    private boolean skipQuoted() {
        while (at < text.length) {
            if (text[at++] == quote) {
                return true;
            }
        }
        return false;
    }

    private boolean isEnd(byte letter) {
        for (int i = 0; i < ends.length; i++) {
            if (ends[i] == letter) {
                return true;
            }
        }
        return false;
    }

    private UTF8String part(int start, int end) {
        return UTF8String.fromBytes(text, start, end - start);
    }

    private void add(UTF8String value) {
        pairs.add(new GenericInternalRow(new Object[] {key, value}));
    }
}
