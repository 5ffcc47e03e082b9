# The course on Debian 13, built, for machines without Linux: `docker compose run --rm learn` starts it.
FROM debian:13 AS machine
ENV LANG=C.UTF-8 EDITOR=nano
WORKDIR /course
COPY tools/packages.txt tools/setup.sh tools/
RUN . tools/setup.sh && require_packages container && rm -rf /var/lib/apt/lists/*
RUN git config --system --add safe.directory '*'

FROM machine
COPY . .
RUN ./learn list && ninja -C build/dev lessons
ENTRYPOINT ["./learn"]
