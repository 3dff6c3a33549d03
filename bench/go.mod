module github.com/srdtun/srdtun/bench

go 1.26.0

require (
	github.com/srdtun/srdtun v0.0.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/vishvananda/netlink v1.3.1 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
)

replace github.com/srdtun/srdtun => ../
