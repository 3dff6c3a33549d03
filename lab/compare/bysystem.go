package compare

// bySystem returns the records for which the function has returns true, as a list for each
// system. The lists are in the order of the systems' first records.
func bySystem(all []Record, has func(*Record) bool) (v [][]*Record) {
	at := map[string]int{}
	for i := range all {
		r := &all[i]
		if !has(r) {
			continue
		}
		k, known := at[r.System]
		if !known {
			k, v = len(v), append(v, nil)
			at[r.System] = k
		}
		v[k] = append(v[k], r)
	}
	return v
}
