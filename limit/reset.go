package limit

// The names of all registers that an algorithm may have stored, under any policy.
var (
	bucketRegisters   = []string{tat, interval, back, ahead}
	windowRegisters   = []string{shape, registers[0], registers[1], registers[2]}
	logRegisters      = []string{shape, newest, inUse}
	intervalRegisters = []string{start, given}
)

// Reset returns the write that makes a state that of a limit never used, whatever it
// is: it has no guards. What was promised for later, or leased, counts no more; a charge
// from before that is settled afterwards may give back what was charged since.
func (l *Limit) Reset() Write {
	r := algorithms[l.policy.Algorithm]
	changes := make([]Change, 0, len(r.registers)+1)
	for _, name := range r.registers {
		changes = append(changes, Change{Kind: Drop, Register: name})
	}
	if r.log {
		changes = append(changes, Change{Kind: Clear})
	}
	return Write{Changes: changes}
}
