//go:build epnetsuite

package carrier

import "net"

// The fields exist only in the package net of the overlay.
func init() { net.SuiteListen, net.SuiteDial = Listen, Dial }
