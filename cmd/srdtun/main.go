// Command srdtun carries IP packets between hosts over many UDP paths at once.
// Its habits are those of wg(8) and wg-quick(8).
package main

import "os"

func main() { os.Exit(run(os.Args[1:])) }
