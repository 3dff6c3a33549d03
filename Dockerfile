# srdtun alone in an image: docker build -t srdtun . (docs/install.md says how to run it)
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN make build VERSION="$VERSION"

FROM scratch
COPY --from=build /src/bin/srdtun /usr/bin/srdtun
COPY LICENSE /usr/share/doc/srdtun/copyright
ENTRYPOINT ["/usr/bin/srdtun"]
CMD ["--help"]
