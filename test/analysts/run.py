"""Runs the queries of standard input (a JSON array) with DuckDB, and reads each table with pyarrow; prints both as JSON. Run beside the folder `export`."""

import json
import sys
from glob import glob

import duckdb
import pyarrow.parquet as parquet

connection = duckdb.connect()
connection.execute("set timezone = 'UTC'")


def answer(query):
    result = connection.execute(query)
    columns = [column[0] for column in result.description]
    return {"columns": columns, "rows": [list(row) for row in result.fetchall()]}


def read(table):
    [path] = glob(f"export/{table}/*.parquet")
    read = parquet.read_table(path)
    types = {field.name: str(field.type) for field in read.schema}
    return {"rows": read.num_rows, "types": types, "first": str(read.to_pylist()[0])}


tables = ["events", "notifications", "attempts"]
print(json.dumps({"answers": [answer(query) for query in json.load(sys.stdin)], "tables": {name: read(name) for name in tables}}))
