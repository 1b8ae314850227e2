package quota

import "go.yaml.in/yaml/v4"

// ReadPlanYAML reads one plan as it stands below its name in a configuration: limits: […].
// The error is a [Problems] with what cannot be read and where. Whether the values go
// together is not checked: that is [Config.Validate]'s, when it is put among the others.
func ReadPlanYAML(data []byte) (p Plan, err error) {
	err = readPart(data, func(r *reader, root *yaml.Node) { p = r.plan("", root) })
	return p, err
}

// ReadTenantYAML reads one tenant as [ReadPlanYAML] reads a plan: plan: free, limits: […].
func ReadTenantYAML(data []byte) (t Tenant, err error) {
	err = readPart(data, func(r *reader, root *yaml.Node) { t = r.tenant("", root) })
	return t, err
}

func readPart(data []byte, read func(*reader, *yaml.Node)) error {
	root, err := document(data)
	if err != nil {
		return err
	}
	r := newReader(root)
	read(r, root)
	return r.problems.err()
}
