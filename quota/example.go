package quota

import _ "embed"

//go:embed example.yaml
var exampleYAML []byte

// Example returns the configuration that is used when there is none: the plans free
// and pro, with the tenants acme and globex.
func Example() Config {
	config, err := ParseYAML(exampleYAML)
	if err != nil {
		panic("quota: the built-in example: " + err.Error())
	}
	return config
}
