package steer

// MaxWeight bounds a configured weight. Uplinks whose rates differ by a larger factor should
// not be used together.
const MaxWeight = 1000

// MaxClasses is the largest number of classes of paths. A class is a local address or an
// interface in the configuration.
const MaxClasses = 16

// classes holds the weight of each path, by its class.
type classes struct {
	weights []int // configured weights by class; other classes have weight 1
	of      [MaxPaths]uint8
}

// Place implements Placed. Classes from MaxClasses on share the last class.
func (c *classes) Place(p, class int) { c.of[p] = uint8(max(0, min(class, MaxClasses-1))) }

// weightOf returns the configured weight of path p.
func (c *classes) weightOf(p int) float64 {
	if k := int(c.of[p]); k < len(c.weights) {
		return float64(c.weights[k])
	}
	return 1
}

// relative returns the weight of path p divided by the largest weight.
func (c *classes) relative(p int) float64 {
	most := 1
	for _, w := range c.weights {
		most = max(most, w)
	}
	return c.weightOf(p) / float64(most)
}
