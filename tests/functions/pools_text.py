"""Texts as arguments: what text is, and text that some function reads as something else.

A time of day alone (``12:34:56``) is in no pool that is read as a timestamp: Spark puts it on the day of the run.
"""

from __future__ import annotations

_PLAIN = ["", " ", "a", "A", "abc", "ABC", "Hello World", "hello world", "  padded  ", "\tTab\n", "äöüß", "ÄÖÜẞ",
    "İstanbul",
          "ıI", "ŒUVRE", "ﬁn", "Straße", "e\u0301", "é", "naïve café", "日本語", "日本語テキスト", "😀", "a😀b",
          "👨‍👩‍👧", "🇩🇪",
          "Привет мир", "مرحبا", "שלום", "ǆ", "Σίσυφος ΣΑΣ", "a,b,c", "a,,b,", ",", "one two  three", "x" * 40, "aaa",
          "aAaA",
          "abcabcabc", "O'Brien", "quote\"d", "back\\slash", "100%", "under_score", "a%b_c", "line1\nline2", "\x00",
          "a\x00b",
          "\u00a0nbsp\u00a0", "\u3000wide\u3000", "\ufeffbom", "zero\u200bwidth", "1", "12", "-1", "3.14", "true",
          "null",
          "2024-02-29", "MiXeD CaSe", "mcdonald's o'neil-smith", "Z", "z", "~", "end."]
_LONG = ["ab" * 1200, "ä€😀" * 500]

_NUMBERS = ["0", "-0", "+0", "1", "-1", "+1", " 12 ", "\t12\n", "12 ", "007", "127", "128", "-128", "-129", "32767",
    "32768",
            "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
            "-9223372036854775808", "-9223372036854775809", "1.5", "-1.5", "2.5", ".5", "5.", ".", "1e3", "1E3", "1e-3",
            "1e400",
            "-1e400", "1e-400", "NaN", "nan", "Infinity", "-Infinity", "inf", "+inf", "INF", "1.0", "1.9", "0x1A",
            "1_000",
            "1,000", "1d", "1D", "1f", "1L", "", " ", "abc", "12abc", "--1", "+-1", "1 2", "٣", "１２", "0.1",
            "123456789.987654321",
            "99999999999999999999999999999999999999", "0.00000000000000000000000000000000000001", "1e37", "1e38",
            "\u00a012",
            "3.4028235e38", "3.4028236e38", "4.9e-324", "1.7976931348623157e308", "true", "2024", "-12.50", "00012.500"]

_BOOLEANS = ["true", "TRUE", "True", " true ", "t", "T", "yes", "YES", "y", "1", "false", "FALSE", "f", "no", "n", "0",
    "", " ",
             "on", "off", "2", "tru", "null", "10", "-1", "1.0", "ja", "\tfalse\n", "tRuE", "oui"]

_DATES = ["2024-02-29", "2023-02-29", "2024-2-9", "2024-02", "2024", "2024-02-29 12:34:56", "2024-02-29T12:34:56",
    " 2024-02-29 ",
          "0001-01-01", "9999-12-31", "10000-01-01", "+10000-01-01", "-0001-01-01", "0000-01-01", "1582-10-10",
          "1970-01-01",
          "24-01-01", "2024-13-01", "2024-00-10", "2024-01-32", "2024/02/29", "20240229", "29.02.2024", "02/29/2024",
          "2024-02-29T", "2024-02-29 ", "2024-02-29x", "2024-02-29 x", "epoch", "now", "today", "", " ", "abc",
          "2024-060",
          "2024-W09-4", "1900-02-29", "2000-02-29", "２０２４-02-29", "02024-02-29", "999-01-01", "2024-1",
          "-2024-01-01",
          "2024-12-31", "2021-04-31", "1999-9-9", "5881580-07-11", "5881580-07-12", "2024-02-29Z", "2024--02-29",
          "2024-02-"]

_TIMESTAMPS = ["2024-02-29 12:34:56", "2024-02-29 12:34:56.789012", "2024-02-29T12:34:56.789", "2024-02-29T12:34:56Z",
               "2024-02-29 12:34:56+02:00", "2024-02-29 12:34:56 Europe/Berlin", "2024-02-29 12:34:56 UTC+3",
               "2024-02-29T12:34:56-0800", "2024-02-29 12:34:56 PST", "2024-02-29 12:34:56 America/New_York",
               "2024-02-29",
               "2024-02", "2024", "2024-02-29 12", "2024-02-29 12:34", "2024-02-29 1:2:3",
               "2024-02-29 12:34:56.1234567",
               "2024-02-29 12:34:56.123456789", "2024-02-29 24:00:00", "2024-02-29 23:59:60", "2024-02-29 25:00:00",
               "2024-02-30 00:00:00", "2024-03-10 02:30:00", "2024-11-03 01:30:00", "2024-03-31 02:30:00",
               "2024-10-27 02:30:00", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1582-10-10 00:00:00",
               "1883-11-18 12:00:00", " 2024-02-29 12:34:56 ", "now", "epoch", "", " ", "abc",
               "2024-02-29 12:34:56 AM", "2024-02-29 12:34:56 Nowhere/City", "2024-02-29 12:34:56+25:00", "1709210096",
               "2024-02-29T12:34:56,789", "2024-02-29 12:34:", "2024-02-29 12:34:56.", "2024-2-9 1:02:03",
               "20240229 123456",
               "294247-01-10 04:00:54.775807", "294247-01-10 04:00:54.775808", "-0001-01-01 00:00:00",
               "2024-02-29 12:34:56 GMT",
               "2024-02-29 12:34:56Zulu", "2024-02-29  12:34:56", "2024-02-29 12:34:56 +02:00",
               "2024-02-29 12:34:56 +2"]

_YMD = [(2024, 2, 29), (2023, 2, 29), (1, 1, 1), (9999, 12, 31), (1582, 10, 10), (1970, 1, 1), (2024, 12, 31), (1999, 9,
    9), (2021, 4, 31), (2000, 2, 29),
        (1900, 2, 28), (2024, 3, 10), (2024, 13, 1), (1968, 7, 6), (2038, 1, 19)]
_SHAPES = ["{0:04}{1:02}{2:02}", "{2:02}.{1:02}.{0:04}", "{1:02}/{2:02}/{0:04}", "{2}.{1}.{0}"]
_WRITTEN_DATES = [shape.format(*one) for shape in _SHAPES for one in _YMD] + ["29.02.2024 ", "2024", "1999", "24-02-29",
    "70-01-01", "99-12-31", "2024-060", "2024-366",
                                                                            "2023-366", "abc", ""]
_ISO_TIMES = [f"{day}T{clock}{zone}" for day in ("2024-02-29", "2024-03-10", "1582-10-10",
    "2023-02-29") for clock in ("12:34:56", "02:30:00", "23:59:59.123", "24:00:00")
              for zone in ("", "Z", "+02:00", "-0800")]

_CLOCKS = [f"{hour}:{minute}:{second}" for hour in ("00", "09", "12", "23", "24", "7")
           for minute in ("00", "34", "59", "60") for second in ("00", "56.5", "59")]

_JSON = ['{"a":1,"b":"x","c":[1,2,{"d":null}]}', '{"a":{"b":{"c":42}}}', "{}", "[]", "[1,2,3]", '["x",null,true]',
    '"text"', "12",
         "true", "null", "", " ", "{", '{"a":}', '{"a":1', "{'a':1}", '{"a": 1.50}', '{"a":1e3}', '{"a":"1"}',
         '{"a":null}',
         '{"A":1}', '{"a":1,"a":2}', '{"a b":"space"}', '{"ä":"ö","😀":"x"}', '{"a":"\\u00e4\\n\\"q\\""}',
             '[{"a":1},{"a":2},{"b":3}]',
         '{"a":[[1,2],[3]]}', '{"a":9223372036854775808}', '{"a":12345678901234567890123.456}', '{"a":"2024-02-29"}',
         '{"a":true,"b":false}', ' {"a" : [ 1 , 2 ] } ', '{"a":1} trailing', '{"a":NaN}', '{"a":0.1}', "[[],[[]]]",
             "nonsense",
         '{"a":"x,y"}', '{"a":[]}', '{"a":{}}', '{"a":-0.0}', '{"a":[{"b":1},{"b":2}]}', '{"b":"only b"}',
             '{"a":2147483648}',
         '{"a":01}', '{"a":"' + "z" * 300 + '"}', "[1,2,", '{"a":"\\ud83d\\ude00"}', "{}{}", '{"x":{"a":5}}', '[null]',
             '{"":1}']

_URLS = ["http://spark.apache.org/path?query=1", "https://user:pw@host.example:8443/a/b.html?k=v&k2=v2#frag",
    "http://host",
         "http://host/", "ftp://ftp.example.com/file.txt", "mailto:a@b.c", "not a url", "", "http://host?query",
         "http://host/?a=&b=2",
         "http://host/path;params?x=y", "http://[::1]:80/v6", "http://ho st/space", "http://host/%41%20b?q=%C3%A4",
         "//host/path",
         "/only/path?x=1", "http://host:abc/", "http://exämple.de/ü?ö=1#ß", "file:///etc/hosts",
         "http://host/p?k=v=w&k=z",
         "http://host/p#only", "http://a.b.c/d?k2=2&k=1", "HTTP://UPPER.example/X", "http://host?k=a+b",
         "http://host/?=v", "k=v",
         "http://host/?kk=1&k=2", "http:///nohost", "http://user@host/x", "jdbc:mysql://h/db?k=1", "http://host/a|b",
         "http://host\\x",
         "x" * 50, "http://host/" + "p" * 100 + "?k=1"]

_ENCODED = ["", "a", "a+b", "a%20b", "%41", "%zz", "%", "%4", "%C3%A4", "%F0%9F%98%80", "%FF", "100%25", "a%2Bb",
    "key=v&k=w", "ä",
            "%E2%82", "%00", "plain.text-_*", "+", "%2", "https%3A%2F%2Fspark.apache.org", "%c3%a4", "😀", "%%", "a b"]

_BASE64 = ["", "YQ==", "YWI=", "YWJj", "aGVsbG8gd29ybGQ=", "YQ", "YQ=", "Y", "!!!!", "YWJj\nZGVm", "YW Jj", "w6TDtsO8",
    "8J+YgA==", "-_-_",
           "+/+/", "=", "====", "YWJjZA", "AAAA", "//79", "YQ===", "Y=Q=", "ä", "YWJj=", "abcd", "QUJD" * 30]

_HEXES = ["", "0", "00", "ff", "FF", "1A", "abc", "DEADBEEF", "deadbeef", "xyz", "0x1A", " 1A", "1A ", "123", "E282AC",
    "f09f9880",
          "-1", "7FFFFFFFFFFFFFFF", "FFFFFFFFFFFFFFFF", "10000000000000000", "1.5", "ä", "g", "4", "zz", "1G", "01",
          "0000ff"]

_PATTERNS = ["", "a", "b+", "[a-c]+", "^a", "c$", "\\d+", "(\\w+)", "(a)(b)?", ".", ".*", "a|b", "[^a-z]", "\\s+",
    "\\bhello\\b",
             "(?i)ABC", "\\p{L}+", "ä", "😀", "[", "(", "*", "a{2}", "a{2,}", "(?<name>a)", "(a*)*b", "\\.", "\\\\",
             "$",
             "^", "a*?",
             "(?=a)", "(?<!a)b", "\\Qa.b\\E", "[[:alpha:]]", "\\x61", "\\u00e4", "[a-z&&[^b]]", "a++", "(?s).+", "\\R",
             "\\h", "x*"]

_FORMATS = ["yyyy-MM-dd", "yyyy/MM/dd HH:mm:ss", "dd.MM.yy", "EEE, d MMM yyyy", "EEEE", "HH:mm:ss.SSSSSS", "hh:mm a",
    "D", "Q", "qqq",
            "yyyyMMdd", "MMMM", "L", "LLLL", "VV", "z", "zzzz", "XXX", "xx", "O", "G", "y", "yyyyy", "'quoted' yyyy",
            "F", "k", "K",
            "S", "SSS", "h", "m", "s", "", "M", "d", "u", "bad", "YYYY", "w", "e", "[yyyy]",
            "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"]

_UNITS = ["year", "YEAR", "yyyy", "yy", "quarter", "QUARTER", "month", "MM", "mon", "Month", "week", "day", "DD",
    "hour", "minute",
          "second", "millisecond", "microsecond", "decade", "century", "", "nonsense", "dd", "mm", "WEEK", " day",
          "HOUR"]

_ZONES = ["UTC", "GMT", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Asia/Tokyo", "+02:00", "-08:00", "+2",
    "UTC+1", "GMT-3",
          "PST", "EST", "Nowhere/City", "", "Z", "Australia/Lord_Howe", "+18:00", "+19:00", "America/St_Johns", "utc",
          "CET",
          "Pacific/Apia", "UTC+01:30", "UT", "+0530", "america/new_york"]

_WEEKDAYS = ["Mon", "MONDAY", "tu", "TUE", "Wednesday", "we", "thu", "fri", "Sat", "SUN", "sunday", "su", "xx", "",
    "Mo", "MO", "th",
             "FR", "montag", " Mon", "tues", "SA"]

_KEYED = ["a:1,b:2,c:3", "a:1", "", ":", ",", "a", "a:1,a:2", "a:1,b", "a:,b:2", "a:1:2,b:3", "ä:ö,😀:x", "a=1;b=2",
    "a:1, b:2",
          "a:1,,b:2", "x:y", " a : 1 ", "k:v,k2:v2,k3:v3", "null:null", "a:1,b:1", "b:2,a:1"]

_NUMBERED = ["$01.23", "$99.99", "99,999", "00,454", "12", "-12", "-99", "<99>", "<1>", "007", "0,001.50", "9,999.99",
    "-454", "454-", "12 ", "1.50", "454", "$78.12", "12,345", "-34", "34-", "<12>", "1,234.56", "0.5", ".5", "+12",
    "12+", "", " ", "abc", "1234567", "$1",
             "00454", "454.00", "45.4", "-$78.12", "$-78.12", "12.", "1,2,3", "999", "1000", " 454 ", "78.12", "-0",
             "9999.99"]

_XML = ["<a><b>1</b><b>2</b><c x='y'>text</c></a>", "<a/>", "<a>", "", "text", "<a><b>b1</b><b>b2</b></a>",
    "<a b='1'>2</a>",
        "<a><b>NaN</b></a>", "<a>  x </a>", "<a><b>1.5</b></a>", "<a><b>ä😀</b></a>",
        "<?xml version='1.0'?><a><b>7</b></a>",
        "<a><b/></a>", "<a><!-- c --><b>3</b></a>", "<a><b>-99999999999</b></a>", "<A><B>1</B></A>"]

_LUHN = ["8112189876", "79927398713", "79927398714", "4111111111111111", "", "0", "00", "1", "a", "12 34", "18", "26",
    "-18", "٣",
         "378282246310005", "6011000990139424", "123456789012345", "8112189875"]

_INTERVALS = ["1 day", "interval 1 day", "2 months 3 days", "-1 year",
    "1 year 2 months 3 days 4 hours 5 minutes 6.789 seconds", "1 week",
              "", "abc", "1", "1 day 25 hours", "P1D", "1-2", "1 02:03:04.5", "1 millisecond", "5 microseconds",
              "interval",
              "-0 days", "1.5 days", "1 days ago", "999999999 years", "INTERVAL '1' DAY",
              "INTERVAL '1-2' YEAR TO MONTH",
              "INTERVAL '3 04:05:06.7' DAY TO SECOND", "-1 02:03:04", "+1-2", "1 02:03", "106751991 04:00:54.775807",
              "178956970-7"]

TEXT_POOLS: dict[str, list[str]] = {
    "string": _PLAIN + _LONG,
    "string:number": _NUMBERS,
    "string:digits": ["0", "1", "-1", " 12 ", "007", "127", "-128", "2147483647", "9223372036854775807", "-5", "3",
    "10", "+4", "42", "100", "7",
                      "99", "-64", "1000", "2", "12", "1.5", "abc", ""],
    "string:boolean": _BOOLEANS,
    "string:date": _DATES,
    "string:timestamp": _TIMESTAMPS,
    "string:clock": _CLOCKS,
    "string:written": _WRITTEN_DATES,
    "string:iso": _ISO_TIMES,
    "string:json": _JSON,
    "string:url": _URLS,
    "string:encoded": _ENCODED,
    "string:base64": _BASE64,
    "string:hex": _HEXES,
    "string:pattern": _PATTERNS,
    "string:format": _FORMATS,
    "string:unit": _UNITS,
    "string:zone": _ZONES,
    "string:weekday": _WEEKDAYS,
    "string:keyed": _KEYED,
    "string:numbered": _NUMBERED,
    "string:xml": _XML,
    "string:luhn": _LUHN,
    "string:interval": _INTERVALS,
    "string:letters": ["a", "b", "ab", "abc", "abcabc", "", "c", "bc", "aXbX", "ä", "äb", "😀", "a😀", "A", "ABC", " ",
    "x", "aa", "aaa"],
    "string:short": ["", "a", "b", "ab", "x", " ", "ä", "😀", "xy", "abc", "B", "o", "l", "%", ",", "日"],
    "string:words": ["hello", "hallo", "Robert", "Rupert", "Ashcraft", "kitten", "sitting", "", "Tymczak", "Pfister",
    "日本", "O'Hara",
                     "Honeyman", "a", "jackson", "JACKSON", "Müller", "😀", "12ab", "saturday", "sunday", "MARTHA",
                     "MARHTA",
                     "DIXON", "DICKSONX", "crate", "trace"],
    "string:like": ["", "%", "_", "a%", "%a", "%b%", "a_c", "__", "a\\%b", "a\\_c", "\\\\", "abc", "%%", "_%", "%\\%",
    "A%", "ä%", "_😀_",
                    "a!%b%", "100!%", "%!_%", "%\n%", "a\\", "!", "Hello%", "%world", "日%", "\\a", "%.%",
                    "a.c", "(a)"],
    "string:digest": ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "MD5", "SHA-256", "", "crc32"],
    "string:charset": ["UTF-8", "utf-8", "US-ASCII", "ISO-8859-1", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32",
    "windows-1252",
                       "nonsense", ""],
}
