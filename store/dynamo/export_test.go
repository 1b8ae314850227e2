package dynamo

import "time"

// SetClock sets what the time is to the configuration.
func (t *ConfigTable) SetClock(now func() time.Time) { t.now = now }
