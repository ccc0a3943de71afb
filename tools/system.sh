#!/usr/bin/env bash
# Install what pip cannot: a Java runtime and, on Debian and Ubuntu, Python's venv module.
set -euo pipefail
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }
command -v apt-get >/dev/null 2>&1 || { bash "$(dirname "$0")/check-java.sh"; exit $?; }
as_root apt-get update -q
for version in 21 17; do
  if [[ "$(apt-cache policy "openjdk-$version-jre-headless")" == *"Candidate: "[0-9]* ]]; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "openjdk-$version-jre-headless" python3-venv
    exec bash "$(dirname "$0")/check-java.sh"
  fi
done
echo "apt-get offers neither openjdk-21 nor openjdk-17; install a Java 17+ runtime by hand and set JAVA_HOME" >&2
exit 1
