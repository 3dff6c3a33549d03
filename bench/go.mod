module github.com/srdtun/srdtun/bench

go 1.26.0

require (
	github.com/srdtun/srdtun v0.0.0
	github.com/vishvananda/netlink v1.3.1
	golang.org/x/sys v0.49.0
)

require golang.org/x/net v0.60.0 // indirect

require (
	github.com/BurntSushi/toml v1.6.0 // indirect
	github.com/flynn/noise v1.1.0 // indirect
	github.com/srdtun/srdtun/lab v0.0.0
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/crypto v0.58.0 // indirect
)

replace github.com/srdtun/srdtun => ../

replace github.com/srdtun/srdtun/lab => ../lab
