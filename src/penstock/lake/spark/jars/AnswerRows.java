package penstock;

import org.apache.spark.api.python.PythonRDD;
import org.apache.spark.api.python.SerDeUtil;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.types.DataType;
import scala.Some;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;

/**
 * The rows of a query for Python, a batch at a time: as few jobs as `collect` needs, which would unpack all rows before
 * Python sees the first. Here the packed rows of one partition are in memory, and of the unpacked ones a batch.
 *
 * scripts/java_jars.py compiles this file into the jar beside it.
 */
public final class AnswerRows {
    private AnswerRows() {}

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
            Iterator batches = new SerDeUtil.AutoBatchedPickler(rows.map(new PythonRow(schema, bytes)));
            return PythonRDD.serveIterator(batches, "serve-answer");
        }
    }

    private static final class PythonRow extends AbstractFunction1 {
        private final DataType schema;
        private final boolean bytes;

        PythonRow(DataType schema, boolean bytes) {
            this.schema = schema;
            this.bytes = bytes;
        }

        public Object apply(Object row) {
            return EvaluatePython.toJava(row, schema, bytes);
        }
    }
}
