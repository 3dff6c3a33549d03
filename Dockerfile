# srdtun alone in an image: docker build -t srdtun . (docs/install.md says how to run it).
# An agent of a fleet alone: docker build --target agent --build-arg AGENT=srdtun-k8s -t srdtun-k8s .
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
ARG AGENT=srdtun
RUN make build build-agents && mv "bin/$AGENT" bin/program

FROM scratch AS agent
COPY --from=build /src/bin/program /usr/bin/srdtun
COPY LICENSE /usr/share/doc/srdtun/copyright
ENTRYPOINT ["/usr/bin/srdtun"]
CMD ["--help"]

FROM agent
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s CMD ["/usr/bin/srdtun", "show", "--check"]
