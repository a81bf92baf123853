"""Counts the rows of an export with DuckDB and with pyarrow, and prints both as JSON. Run beside the folder `export`."""

import json
from collections import Counter
from glob import glob

import duckdb
import pyarrow.parquet as parquet

connection = duckdb.connect()
tables = ["events", "notifications", "attempts"]


def by_duckdb():
    def count(table, column):
        query = f"select {column} as counted, count(*) from 'export/{table}/*.parquet' group by counted"
        return dict(connection.execute(query).fetchall())

    rows = {table: sum(count(table, "'all'").values()) for table in tables}
    return {"rows": rows, "types": count("events", "type"), "statuses": count("notifications", "status")}


def by_pyarrow():
    def read(table, columns=None):
        return [parquet.read_table(path, columns=columns) for path in glob(f"export/{table}/*.parquet")]

    def count(table, column):
        return dict(Counter(value for part in read(table, [column]) for value in part[column].to_pylist()))

    rows = {table: sum(part.num_rows for part in read(table)) for table in tables}
    return {"rows": rows, "types": count("events", "type"), "statuses": count("notifications", "status")}


print(json.dumps({"duckdb": by_duckdb(), "pyarrow": by_pyarrow()}))
