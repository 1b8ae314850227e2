package lambdaenv_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed43908478/penstock/functions/internal/lambdaenv"
)

// config returns the configuration of an environment.
func config(env map[string]string) aws.Config {
	return lambdaenv.Config(func(name string) string { return env[name] })
}

func TestRegionAndRole(t *testing.T) {
	cfg := config(map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s3cret", "AWS_SESSION_TOKEN": "token",
	})
	got, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil || got.AccessKeyID != "AKIA" || got.SecretAccessKey != "s3cret" || got.SessionToken != "token" || got.CanExpire {
		t.Errorf("credentials %+v, %v", got, err)
	}
	if cfg.Region != "eu-central-1" || cfg.BaseEndpoint != nil {
		t.Errorf("region %q, endpoint %v; want eu-central-1 and DynamoDB's own", cfg.Region, cfg.BaseEndpoint)
	}
}

func TestEmulator(t *testing.T) {
	every := map[string]string{"AWS_ENDPOINT_URL": "http://every:4566"}
	if got := config(every).BaseEndpoint; got == nil || *got != "http://every:4566" {
		t.Errorf("endpoint %v, want the one for every service", got)
	}
	every["AWS_ENDPOINT_URL_DYNAMODB"] = "http://dynamodb:8000"
	if got := config(every).BaseEndpoint; got == nil || *got != "http://dynamodb:8000" {
		t.Errorf("endpoint %v, want DynamoDB's own", got)
	}
}
