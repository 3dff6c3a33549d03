package compare

// bySystem groups the records by system, and leaves out records for which the function
// has() returns false. The groups are in the order of each system's first record.
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
