package main

import (
	"context"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// A proxy stands between the processes and DynamoDB: it counts what they ask, and can
// stop answering.
type proxy struct {
	address string
	writes  atomic.Int64 // UpdateItem calls

	losing atomic.Bool  // half of the UpdateItems are applied and their answers lost
	lost   atomic.Int64 // answers

	mu     sync.Mutex
	silent chan struct{} // open: requests hang until it is closed
	server *http.Server
}

func newProxy(upstream string) (*proxy, error) {
	target, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = &http.Transport{MaxIdleConnsPerHost: 256}
	forward.ErrorLog = log.New(io.Discard, "", 0) // callers that gave up are what is measured
	p := &proxy{}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.address = l.Addr().String()
	p.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		update := strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem")
		if update {
			p.writes.Add(1)
		}
		p.mu.Lock()
		silent := p.silent
		p.mu.Unlock()
		if silent != nil {
			<-silent
			return
		}
		if update && p.losing.Load() && rand.IntN(2) == 0 {
			p.lost.Add(1)
			forward.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler) // closes the connection
		}
		forward.ServeHTTP(w, r)
	})}
	go func() { _ = p.server.Serve(l) }() // ends with Close
	return p, nil
}

// silence makes all requests hang, until speak.
func (p *proxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = make(chan struct{})
}

func (p *proxy) speak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.silent)
	p.silent = nil
}

func (p *proxy) url() string { return "http://" + p.address }
