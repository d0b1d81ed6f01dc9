# The service with its engine inside: `docker run -p 127.0.0.1:7070:7070 -v intray:/data intray` serves.
FROM rust:1-bookworm AS build
WORKDIR /build
COPY . .
# The allocator has to know how large a page is. On arm64 it may be up to 64 KiB, whatever the size on the machine that builds this.
RUN if [ "$(uname -m)" = aarch64 ]; then export JEMALLOC_SYS_WITH_LG_PAGE=16; fi; cargo build --profile dist --features jemalloc --locked

FROM debian:bookworm-slim
# The package starts nothing here; only its program is used, by intray and as intray's user.
# ca-certificates: whom to trust when REDIS_URL is a rediss:// one and no REDIS_CA_FILE is named, and for webhooks.
RUN apt-get update -q \
    && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends ca-certificates redis-server \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin intray \
    && install -d -o intray -g intray -m 700 /data
COPY --from=build /build/target/dist/intray /usr/local/bin/intray

# Inside a container every address is the container's own: publishing the port decides who reaches it. So the
# image listens on all of them, and says so by --insecure. Publish it as -p 127.0.0.1:7070:7070. Without keys it answers to
# loopback names, and to those in INTRAY_ALLOWED_HOST: a page that comes by a name of its own gets 421.
ENV INTRAY_LISTEN=0.0.0.0:7070 INTRAY_DATA_DIR=/data INTRAY_INSECURE=true
# By number, so that an orchestrator sees that it is not root. Nothing is written outside /data: the root may be read-only.
USER 10001:10001
VOLUME /data
EXPOSE 7070
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["intray", "healthcheck"]
STOPSIGNAL SIGTERM
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="intray" \
    org.opencontainers.image.description="A work queue for people" \
    org.opencontainers.image.source="https://github.com/intray/intray" \
    org.opencontainers.image.licenses="MIT OR Apache-2.0" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.revision="$REVISION"
ENTRYPOINT ["intray"]
