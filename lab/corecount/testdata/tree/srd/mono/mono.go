package mono

import "time"

type Time int64

func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }
