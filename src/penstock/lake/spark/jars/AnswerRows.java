package penstock;

import java.util.ArrayList;
import net.razorvine.pickle.Pickler;
import org.apache.spark.api.python.PythonRDD;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.types.DataType;
import scala.Some;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction0;

/**
 * The rows of a query for Python, a batch at a time: as few jobs as `collect` needs, which would unpack all rows before
 * Python sees the first. Here the packed rows of one partition are in memory, and of the unpacked ones a batch.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class AnswerRows {
    private AnswerRows() {}

    /** After so many bytes of its rows, each counted with what it costs beside its values, a batch ends. */
    private static final long BATCH_BYTES = 1 << 20;
    private static final int ROW_BYTES = 64;

    /** The largest row in bytes: it is several times in memory while it is pickled, and a JVM without memory ends. */
    private static final long MOST_ROW_BYTES = Runtime.getRuntime().maxMemory() / 16;

    /**
     * Where Python reads the rows, as `PythonRDD.serveIterator` returns it: an address, a secret, and the server, whose
     * `getResult` throws what failed after some rows. The thread that serves has the properties of the calling one, so
     * its jobs are cancelled with the others of its group.
     */
    public static Object[] serve(Dataset answer) {
        QueryExecution query = answer.queryExecution();
        boolean bytes = query.sparkSession().sessionState().conf().pysparkBinaryAsBytes();
        return (Object[]) SQLExecution.withNewExecutionId(query, new Some("serve"), new Serving(query, answer.schema(), bytes));
    }

    private static final class Serving extends AbstractFunction0 {
        private final QueryExecution query;
        private final DataType schema;
        private final boolean bytes;

        Serving(QueryExecution query, DataType schema, boolean bytes) {
            this.query = query;
            this.schema = schema;
            this.bytes = bytes;
        }

        public Object apply() {
            Iterator rows = query.executedPlan().executeToIterator();
            EvaluatePython.registerPicklers();
            Iterator batches = new Batches(rows, schema, bytes);
            return PythonRDD.serveIterator(batches, "serve-answer");
        }
    }

    /** The rows pickled, some at a time. Spark's own batches grow by the rows that came before: large rows after many
     * small ones would all be unpacked at once. */
    private static final class Batches extends AbstractIterator {
        private final Iterator rows;
        private final DataType schema;
        private final boolean bytes;
        private final Pickler pickler = new Pickler(true, false); // as Spark's own

        Batches(Iterator rows, DataType schema, boolean bytes) {
            this.rows = rows;
            this.schema = schema;
            this.bytes = bytes;
        }

        public boolean hasNext() {
            try {
                return rows.hasNext();
            } catch (Error error) {
                throw told(error);
            }
        }

        public Object next() {
            try {
                return pickler.dumps(batch().toArray());
            } catch (java.io.IOException error) { // it writes to memory
                throw new java.io.UncheckedIOException(error);
            } catch (Error error) {
                throw told(error);
            }
        }

        private ArrayList batch() {
            ArrayList batch = new ArrayList();
            long size = 0;
            do {
                UnsafeRow row = (UnsafeRow) rows.next();
                if (row.getSizeInBytes() > MOST_ROW_BYTES) {
                    throw new IllegalStateException("AnswerRows: a row has more than " + MOST_ROW_BYTES + " bytes");
                }
                size += row.getSizeInBytes() + ROW_BYTES;
                batch.add(EvaluatePython.toJava(row, schema, bytes));
            } while (size < BATCH_BYTES && rows.hasNext());
            return batch;
        }

        /** Spark's server hands on exceptions only: after an error, Python would wait for its result for ever. */
        private static RuntimeException told(Error error) {
            return new RuntimeException(error);
        }
    }
}
