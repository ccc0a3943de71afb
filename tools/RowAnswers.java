import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedMutableProjection;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Evaluates one expression row by row inside Spark's own interpreter, so that every row has an answer or an error of
 * its own. A job would stop at the first error; this needs one call per signature however many rows fail.
 *
 * Values travel as JSON in the form that tests/functions/codec.py describes. Compiled at run time by the Janino that
 * comes with Spark, which knows neither lambdas nor diamonds.
 */
public class RowAnswers {
  private final ObjectMapper mapper = new ObjectMapper();
  private final JsonNodeFactory nodes = JsonNodeFactory.instance;

  /** Type and rows of one signature: {"type", "rows": [value or {"error": condition}]} or {"condition"} if unanalysable. */
  public String answer(SparkSession session, String expression, String ddl, String rowsJson, boolean asJob)
      throws Exception {
    ObjectNode out = nodes.objectNode();
    StructType types = StructType.fromDDL(ddl);
    List rows = decodeRows(rowsJson, types);
    LogicalPlan plan;
    DataType type;
    try {
      Dataset asked = ask(session, expression, types, rows);
      type = asked.schema().fields()[0].dataType();
      if (asJob) {
        return runAsJob(session, expression, types, rows, type, out);
      }
      plan = asked.queryExecution().optimizedPlan();
    } catch (Throwable problem) {
      out.put("condition", condition(problem));
      out.put("message", String.valueOf(problem.getMessage()));
      return mapper.writeValueAsString(out);
    }
    out.put("type", type.catalogString());
    ArrayNode answers = out.putArray("rows");
    List projections = projections(plan);
    for (int i = 0; i < rows.size(); i++) {
      InternalRow row = (InternalRow) rows.get(i);
      String failed = null;
      try {
        for (int p = 0; p < projections.size(); p++) {
          row = (InternalRow) ((InterpretedMutableProjection) projections.get(p)).apply(row);
        }
      } catch (Throwable problem) {
        failed = condition(problem);
        projections = projections(plan); // builders of maps keep what they had when they failed
      }
      answers.add(failed != null ? nodes.objectNode().put("error", failed)
          : row.isNullAt(0) ? nodes.nullNode() : encode(row.get(0, type), type));
    }
    return mapper.writeValueAsString(out);
  }

  /** The same through the optimizer, generated code and a job: what a user's query would run. */
  private String runAsJob(
      SparkSession session, String expression, StructType types, List rows, DataType type, ObjectNode out)
      throws Exception {
    out.put("type", type.catalogString());
    ArrayNode answers = out.putArray("rows");
    try {
      InternalRow[] found = ask(session, expression, types, rows).queryExecution().executedPlan().executeCollect();
      for (int i = 0; i < found.length; i++) {
        answers.add(encode(found[i].isNullAt(0) ? null : found[i].get(0, type), type));
      }
    } catch (Throwable problem) {
      out.put("condition", condition(problem));
    }
    return mapper.writeValueAsString(out);
  }

  private Dataset ask(SparkSession session, String expression, StructType types, List rows) {
    LocalRelation empty = (LocalRelation) ((Dataset) session.createDataFrame(Collections.emptyList(), types)).logicalPlan();
    scala.collection.immutable.Seq data =
        scala.jdk.javaapi.CollectionConverters.asScala(rows).toSeq();
    LocalRelation filled = new LocalRelation(empty.output(), data, false, scala.Option.empty());
    return (Dataset) Dataset.ofRows(session, filled).selectExpr(new String[] {expression});
  }

  /** The projections from the leaf up: a common sub-expression is a projection of its own. */
  private List projections(LogicalPlan plan) {
    if (plan instanceof LocalRelation) {
      return new ArrayList();
    }
    if (!(plan instanceof Project)) {
      throw new IllegalStateException("not a projection of rows: " + plan);
    }
    Project project = (Project) plan;
    List below = projections(project.child());
    List fresh = new ArrayList();
    for (int i = 0; i < project.projectList().size(); i++) {
      fresh.add(((Expression) project.projectList().apply(i)).clone());
    }
    below.add(new InterpretedMutableProjection(
        scala.jdk.javaapi.CollectionConverters.asScala(fresh).toSeq(), project.child().output()));
    return below;
  }

  private String condition(Throwable problem) {
    for (Throwable cause = problem; cause != null; cause = cause.getCause()) {
      if (cause instanceof SparkThrowable && ((SparkThrowable) cause).getCondition() != null) {
        return ((SparkThrowable) cause).getCondition();
      }
    }
    return problem.getClass().getName();
  }

  private List decodeRows(String text, StructType types) throws Exception {
    JsonNode all = mapper.readTree(text);
    List rows = new ArrayList();
    for (int i = 0; i < all.size(); i++) {
      rows.add(decode((JsonNode) all.get(i), types));
    }
    return rows;
  }

  private Object decode(JsonNode node, DataType type) {
    if (node.isNull()) {
      return null;
    }
    if (type instanceof BooleanType) {
      return Boolean.valueOf(node.booleanValue());
    }
    if (type instanceof ByteType) {
      return Byte.valueOf((byte) node.intValue());
    }
    if (type instanceof ShortType) {
      return Short.valueOf((short) node.intValue());
    }
    if (type instanceof IntegerType || type instanceof DateType || type instanceof YearMonthIntervalType) {
      return Integer.valueOf(node.intValue());
    }
    if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType
        || type instanceof DayTimeIntervalType || type instanceof TimeType) {
      return Long.valueOf(node.longValue());
    }
    if (type instanceof DoubleType) {
      return Double.valueOf(node.asText());
    }
    if (type instanceof FloatType) {
      return Float.valueOf((float) Double.parseDouble(node.asText()));
    }
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return Decimal.apply(new BigDecimal(node.asText()), decimal.precision(), decimal.scale());
    }
    if (type instanceof StringType) {
      return node.isObject() ? UTF8String.fromBytes(unhex(((JsonNode) node.get("utf8")).asText()))
          : UTF8String.fromString(node.asText());
    }
    if (type instanceof BinaryType) {
      return unhex(node.asText());
    }
    if (type instanceof CalendarIntervalType) {
      return new CalendarInterval(((JsonNode) node.get(0)).intValue(), ((JsonNode) node.get(1)).intValue(), ((JsonNode) node.get(2)).longValue());
    }
    if (type instanceof ArrayType) {
      Object[] values = new Object[node.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = decode((JsonNode) node.get(i), ((ArrayType) type).elementType());
      }
      return new GenericArrayData(values);
    }
    if (type instanceof MapType) {
      Object[] keys = new Object[node.size()];
      Object[] values = new Object[node.size()];
      for (int i = 0; i < keys.length; i++) {
        keys[i] = decode((JsonNode) ((JsonNode) node.get(i)).get(0), ((MapType) type).keyType());
        values[i] = decode((JsonNode) ((JsonNode) node.get(i)).get(1), ((MapType) type).valueType());
      }
      return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(values));
    }
    if (type instanceof StructType) {
      StructField[] fields = ((StructType) type).fields();
      Object[] values = new Object[fields.length];
      for (int i = 0; i < values.length; i++) {
        values[i] = decode((JsonNode) node.get(i), fields[i].dataType());
      }
      return new GenericInternalRow(values);
    }
    throw new IllegalArgumentException("no form for arguments of type " + type);
  }

  private JsonNode encode(Object value, DataType type) {
    if (value == null) {
      return nodes.nullNode();
    }
    if (type instanceof BooleanType) {
      return nodes.booleanNode(((Boolean) value).booleanValue());
    }
    if (type instanceof ByteType || type instanceof ShortType || type instanceof IntegerType
        || type instanceof DateType || type instanceof YearMonthIntervalType || type instanceof LongType
        || type instanceof TimestampType || type instanceof TimestampNTZType
        || type instanceof DayTimeIntervalType || type instanceof TimeType) {
      return nodes.numberNode(((Number) value).longValue());
    }
    if (type instanceof DoubleType || type instanceof FloatType) {
      double number = ((Number) value).doubleValue();
      if (Double.isNaN(number) || Double.isInfinite(number)) {
        return nodes.textNode(Double.toString(number));
      }
      return nodes.numberNode(number);
    }
    if (type instanceof DecimalType) {
      return nodes.textNode(((Decimal) value).toJavaBigDecimal().toPlainString());
    }
    if (type instanceof StringType) {
      byte[] bytes = ((UTF8String) value).getBytes();
      try {
        return nodes.textNode(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
      } catch (CharacterCodingException invalid) {
        return nodes.objectNode().put("utf8", hex(bytes));
      }
    }
    if (type instanceof BinaryType) {
      return nodes.textNode(hex((byte[]) value));
    }
    if (type instanceof CalendarIntervalType) {
      CalendarInterval interval = (CalendarInterval) value;
      return nodes.arrayNode().add(interval.months).add(interval.days).add(interval.microseconds);
    }
    if (type instanceof ArrayType) {
      return encodeArray((ArrayData) value, ((ArrayType) type).elementType());
    }
    if (type instanceof MapType) {
      MapType map = (MapType) type;
      ArrayNode pairs = nodes.arrayNode();
      ArrayNode keys = encodeArray(((MapData) value).keyArray(), map.keyType());
      ArrayNode values = encodeArray(((MapData) value).valueArray(), map.valueType());
      for (int i = 0; i < keys.size(); i++) {
        pairs.add(nodes.arrayNode().add((JsonNode) keys.get(i)).add((JsonNode) values.get(i)));
      }
      return pairs;
    }
    if (type instanceof StructType) {
      StructField[] fields = ((StructType) type).fields();
      ArrayNode out = nodes.arrayNode();
      for (int i = 0; i < fields.length; i++) {
        out.add(item((SpecializedGetters) value, i, fields[i].dataType()));
      }
      return out;
    }
    if (type instanceof NullType) {
      return nodes.nullNode();
    }
    throw new IllegalArgumentException("no form for answers of type " + type);
  }

  private ArrayNode encodeArray(ArrayData array, DataType element) {
    ArrayNode out = nodes.arrayNode();
    for (int i = 0; i < array.numElements(); i++) {
      out.add(item(array, i, element));
    }
    return out;
  }

  private JsonNode item(SpecializedGetters values, int i, DataType type) {
    return values.isNullAt(i) ? nodes.nullNode() : encode(values.get(i, type), type);
  }

  private String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < bytes.length; i++) {
      text.append(Character.forDigit((bytes[i] >> 4) & 15, 16)).append(Character.forDigit(bytes[i] & 15, 16));
    }
    return text.toString();
  }

  private byte[] unhex(String text) {
    byte[] bytes = new byte[text.length() / 2];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
    }
    return bytes;
  }
}
