# The server. `docker build -t penstock .`; compose.yaml runs it with Postgres.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:${PYTHON}-slim-bookworm
# tini forwards signals and collects the processes that end: Spark starts several. Debian's security updates are wanted,
# so no version is pinned.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 penstock \
    && useradd --uid 10001 --gid penstock --create-home penstock \
    && mkdir -p /project/.penstock \
    && chown -R penstock:penstock /project \
    && chmod 0700 /project/.penstock
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[postgres,mysql,s3,kafka,jwks,traces]" && rm -r /wheels
COPY --chmod=0755 packaging/docker/entrypoint.sh /usr/local/bin/penstock-entrypoint
COPY --chown=penstock:penstock packaging/docker/local.toml /project/penstock.toml

USER 10001
ENV HOME=/home/penstock
WORKDIR /project
# Iceberg and the JDBC drivers, so that a start needs no network.
RUN python -m penstock.lake.spark.jar_download --with-postgres

# State, catalog, raw rows, tables and logs, unless penstock.toml puts them elsewhere.
VOLUME /project/.penstock
EXPOSE 7180
# A new server may have to wait for up to a minute until the former one has given up.
HEALTHCHECK --interval=10s --timeout=5s --start-period=180s --retries=6 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7180/health/ready', timeout=4)"]
ENTRYPOINT ["tini", "--", "penstock-entrypoint"]
CMD ["penstock", "up"]
