"""From ``window()`` to panewise in three lines: the same DataFrame in, the same rows out, no copies in between.

    .venv/bin/python examples/replace_spark_window.py

Written as cells (``# %%``): open it as a notebook, or run it.
"""

# %% A session as you have one; any other works too.
import panewise as pw
from panewise.datasets.auction import AuctionSite

spark = pw.spark_session()
bids = spark.createDataFrame(AuctionSite(events=3_000, rate=50, keys=4).bids().to_pandas())

# %% Spark's own way: every row is copied into each of its 12 windows before anything is counted.
from pyspark.sql import functions as F  # noqa: E402

before = (bids.groupBy("auction", F.window("ts", "60 seconds", "5 seconds"))
          .agg(F.count("*").alias("bids"), F.max("price").alias("top")))

# %% The same with panewise: rows are aggregated once per pane, windows are put together from panes.
after = (pw.stream(bids, time="ts")
         .window(range="60 s", slide="5 s").group_by("auction")
         .agg(bids="count(*)", top="max(price)"))

# %% It is a DataFrame like any other, with the same columns.
same = after.select(before.columns)
different = same.exceptAll(before).count() + before.exceptAll(same).count()
print(f"{after.count()} windows, {different} differences")

# %% What Spark will do, and what it need not do any more.
print(pw.explain("SELECT auction, count(*) AS bids, max(price) AS top "
                 "FROM bids [RANGE 60 s, SLIDE 5 s, WA ts] GROUP BY auction", bids=bids))

# %% What window() cannot say at all: the last 100 bids of each auction, every 50 bids. Row windows need an order.
recent = pw.sql("SELECT auction, avg(price) [RANGE 100 rows, SLIDE 50 rows, WA row-num, PATTR auction] AS mean "
                "FROM bids GROUP BY auction",
                bids=pw.arrival(bids.withColumn("number", F.expr("row_number() OVER (ORDER BY ts)")), "number"))
recent.orderBy("auction").show(5)
