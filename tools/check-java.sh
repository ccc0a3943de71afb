#!/usr/bin/env bash
# Spark 4 needs Java 17 or newer. Say what was found, and how to get one.
set -uo pipefail
java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
if version=$("$java" -version 2>&1); then
  major=$(printf '%s\n' "$version" | sed -nE 's/.*version "(1\.)?([0-9]+).*/\2/p' | head -n 1)
  [ "${major:-0}" -ge 17 ] && exit 0
  found="found Java ${major:-of unknown version} ($java)"
else
  found="found none${JAVA_HOME:+ (JAVA_HOME is $JAVA_HOME)}"
fi
cat >&2 <<EOM
Spark needs Java 17 or newer; $found.
  Debian, Ubuntu:   make system          (installs openjdk-17-jre-headless or newer with apt-get)
  Fedora:           sudo dnf install java-21-openjdk-headless
  macOS:            brew install openjdk@21
Then run the same command again. Queries run without Java on the in-process engine:
  .venv/bin/panewise run QUERY --stream NAME=PATH --engine embedded
EOM
exit 1
