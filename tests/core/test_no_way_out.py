"""No query text reaches a file, the network or an extension."""

from __future__ import annotations

import pytest

import panewise as pw
from panewise.core.errors import PanewiseError

ESCAPES = [
    "extract(`year FROM DATE '2020-01-01') || (SELECT content FROM read_text(lower('{path}'))) "
    "|| extract(year` FROM ts)",
    "timestampdiff(`SECOND, ts, ts) + (SELECT count(*) FROM read_text('{path}')) + datediff(SECOND`, ts, ts)",
    "dateadd(`day, 1, ts), (SELECT 1 FROM read_csv('{path}')), dateadd(day`, 1, ts)",
    "datediff(`day, ts, ts) + (SELECT count(*) FROM read_blob('{path}')) + datediff(day`, ts, ts)",
    "(SELECT max(content) FROM read_text('{path}'))",
    "read_text('{path}')",
    "getenv('HOME')",
    "reflect('java.lang.System', 'getProperty', 'user.home')",
    "java_method('java.lang.System', 'getProperty', 'user.home')",
]


@pytest.mark.parametrize("expression", ESCAPES)
@pytest.mark.parametrize("engine", ["embedded", "oracle"])
def test_an_expression_that_would_read_a_file_is_refused(engine, expression, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    text = f"SELECT {expression.format(path=secret)} AS x FROM s"
    with pytest.raises(PanewiseError) as refused:
        list(pw.sql(text, s=[{"ts": 1}], engine=engine))
    assert "the secret" not in str(refused.value)
