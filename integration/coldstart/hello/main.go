// Command hello is the least that a Lambda function in Go can be: what the cold start of
// the others is compared with.
package main

import "github.com/aws/aws-lambda-go/lambda"

func main() {
	lambda.Start(func() (string, error) { return "hello", nil })
}
