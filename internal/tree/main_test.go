// Package tree has the tests of the source tree as a whole. The tests check rules that a compiler
// does not check: the imports of each package, the limits of the pure packages, the documents, and
// the version.
package tree

import (
	"os"
	"testing"
)

// TestMain runs the tests in the top folder, so file names in the tests begin there.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	m.Run()
}
