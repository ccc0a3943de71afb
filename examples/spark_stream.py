"""A streaming DataFrame in, a streaming DataFrame out: any Spark source before, any Spark sink after.

    .venv/bin/python examples/spark_stream.py
"""

import tempfile

import panewise as pw
from panewise.datasets.auction import AuctionSite

spark = pw.spark_session()
with tempfile.TemporaryDirectory() as folder:
    bids = spark.createDataFrame(AuctionSite(events=3_000, rate=50, keys=4).bids().to_pandas())
    bids.coalesce(1).write.parquet(f"{folder}/bids")
    stream = spark.readStream.schema(bids.schema).parquet(f"{folder}/bids")
    top = pw.stream(stream, time="ts", progress="late:10 s").window(range="20 s", slide="5 s").group_by("auction") \
        .agg(bids="count(*)", top="max(price)")
    query = (top.writeStream.format("memory").queryName("top").outputMode("append")
             .option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start())
    query.awaitTermination()
    spark.sql("SELECT auction, window.end, bids, top FROM top ORDER BY top DESC LIMIT 5").show(truncate=False)
