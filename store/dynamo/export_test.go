package dynamo

// CompareAll has each answer to come compared, instead of one in a second.
func (c *Clock) CompareAll() { c.every = 0 }
