package dynamo

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/seed43908478/penstock/store"
)

// A verdict is what an error of DynamoDB means to a store.
type verdict struct {
	reason store.Reason
	// unknown is whether a write that was answered so may have been applied.
	unknown bool
}

// verdicts has every error that is known, by its code: some have a type, some come
// as a code only, and all of those with a type have a code.
var verdicts = map[string]verdict{
	// Too much. Nothing was written. (Throttling reasons tell a hot key apart, below.)
	"ProvisionedThroughputExceededException": {store.Throttled, false},
	"ThrottlingException":                    {store.Throttled, false},
	"Throttling":                             {store.Throttled, false},
	"RequestLimitExceeded":                   {store.Throttled, false},
	"LimitExceededException":                 {store.Throttled, false},
	"TransactionConflictException":           {store.Throttled, false},
	"TransactionInProgressException":         {store.Throttled, false},
	"ReplicatedWriteConflictException":       {store.Throttled, false},

	// Not ours to use. Nothing was written.
	"ResourceNotFoundException":            {store.Misconfigured, false},
	"TableNotFoundException":               {store.Misconfigured, false},
	"AccessDeniedException":                {store.Misconfigured, false},
	"UnrecognizedClientException":          {store.Misconfigured, false},
	"InvalidClientTokenId":                 {store.Misconfigured, false},
	"MissingAuthenticationToken":           {store.Misconfigured, false},
	"MissingAuthenticationTokenException":  {store.Misconfigured, false},
	"IncompleteSignature":                  {store.Misconfigured, false},
	"IncompleteSignatureException":         {store.Misconfigured, false},
	"InvalidSignatureException":            {store.Misconfigured, false},
	"SignatureDoesNotMatch":                {store.Misconfigured, false},
	"ExpiredTokenException":                {store.Misconfigured, false},
	"ExpiredToken":                         {store.Misconfigured, false},
	"OptInRequired":                        {store.Misconfigured, false},
	"InvalidEndpointException":             {store.Misconfigured, false},
	"KMSAccessDeniedException":             {store.Misconfigured, false},
	"InaccessibleEncryptionDateException":  {store.Misconfigured, false},
	"InaccessibleEncryptionStateException": {store.Misconfigured, false},

	// A request that cannot be. Nothing was written.
	"ValidationException":                      {store.Invalid, false},
	"SerializationException":                   {store.Invalid, false},
	"ItemCollectionSizeLimitExceededException": {store.Invalid, false},
	"RequestEntityTooLargeException":           {store.Invalid, false},
	"UnknownOperationException":                {store.Invalid, false},

	// It failed, and nobody knows how far it came.
	"InternalServerError":         {store.Unavailable, true},
	"InternalFailure":             {store.Unavailable, true},
	"ServiceUnavailable":          {store.Unavailable, true},
	"ServiceUnavailableException": {store.Unavailable, true},
	"RequestTimeout":              {store.Unavailable, true},
	"RequestTimeoutException":     {store.Unavailable, true},
}

// translate is the only place where an error of the SDK becomes one of the store.
// sent tells how far the request came.
func translate(err error, sent *sending) *store.Error {
	v := judge(err, sent)
	return &store.Error{Reason: v.reason, Unknown: v.unknown, Err: err}
}

func judge(err error, sent *sending) verdict {
	if hotKey(err) {
		return verdict{store.HotKey, false}
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if v, ok := verdicts[api.ErrorCode()]; ok {
			return v
		}
	}
	// The SDK also calls it a response, of status 0, when none came.
	if resp, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && resp.HTTPStatusCode() != 0 {
		return judgeStatus(resp.HTTPStatusCode())
	}
	if !sent.tried() && !errors.Is(err, context.DeadlineExceeded) {
		// Not even a connection was asked for: no credentials, no region, no endpoint.
		return verdict{store.Misconfigured, false}
	}
	return verdict{store.Unavailable, sent.maybe()}
}

// judgeStatus is for an answer without a code that is known.
func judgeStatus(status int) verdict {
	switch {
	case status == http.StatusTooManyRequests:
		return verdict{store.Throttled, false}
	case status >= 400 && status < 500:
		return verdict{store.Invalid, false}
	}
	return verdict{store.Unavailable, true} // 200 too, when what came is no answer
}

// hotKey reports whether a key range is throttled and not the table: the reasons end
// in KeyRangeThroughputExceeded.
func hotKey(err error) bool {
	for _, r := range throttlingReasons(err) {
		if r.Reason != nil && strings.HasSuffix(*r.Reason, "KeyRangeThroughputExceeded") {
			return true
		}
	}
	return false
}

func throttlingReasons(err error) []types.ThrottlingReason {
	if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		return e.ThrottlingReasons
	}
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		return e.ThrottlingReasons
	}
	if e, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
		return e.ThrottlingReasons
	}
	return nil
}
