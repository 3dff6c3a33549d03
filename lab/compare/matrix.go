package compare

// Matrix is a set of cells: all combinations of its fields.
type Matrix struct {
	Fabrics   []Fabric
	Scenarios []Scenario
	Workloads []Workload
	Loads     []float64
	Systems   []System
	Seeds     int
	Scale     Scale
}

// Cells returns every combination of the matrix's fields. All systems of one combination come one
// after another, so that the results of an interrupted run can still be compared.
func (m *Matrix) Cells() (v []Cell) {
	for _, f := range m.Fabrics {
		for _, load := range m.Loads {
			for _, s := range m.Scenarios {
				for _, w := range m.Workloads {
					for seed := range m.Seeds {
						for _, x := range m.Systems {
							v = append(v, Cell{
								System: x, Fabric: f, Scenario: s, Workload: w, Load: load, Seed: uint64(seed + 1), Scale: m.Scale,
							})
						}
					}
				}
			}
		}
	}
	return v
}
