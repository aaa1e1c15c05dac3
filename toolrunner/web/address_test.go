package web

import (
	"net/netip"
	"strings"
	"testing"
)

func TestOnlyThePublicInternetIsPublic(t *testing.T) {
	t.Parallel()
	for what, list := range map[string]string{
		"loopback":                "127.0.0.1 127.1.2.3 ::1",
		"private":                 "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fc00::1 fd12:3456::1",
		"link-local":              "169.254.1.1 fe80::1 febf::1",
		"shared":                  "100.64.0.1 100.127.255.255",
		"metadata":                "169.254.169.254 100.100.100.200 192.0.0.192 168.63.129.16 fd00:ec2::254 fd20:ce::254",
		"multicast and broadcast": "224.0.0.1 239.255.255.255 255.255.255.255 ff02::1 ff0e::1",
		"unspecified":             "0.0.0.0 0.1.2.3 ::",
		"mapped":                  "::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8",
		"compatible":              "::127.0.0.1 ::8.8.8.8",
		"translated":              "64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::a00:1",
		"6to4 and Teredo":         "2002:7f00:1:: 2002:a00:1:: 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 192.88.99.1",
		"site-local":              "fec0::1",
		"reserved":                "192.0.0.8 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 240.0.0.1 2001:db8::1 3fff::1 4000::1 100::1",
	} {
		for ip := range strings.FieldsSeq(list) {
			if isPublic(netip.MustParseAddr(ip)) {
				t.Errorf("%s is public, and is %s", ip, what)
			}
		}
	}
	for ip := range strings.FieldsSeq("1.1.1.1 8.8.8.8 93.184.215.14 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.0.1.1 168.63.129.17 2606:4700::1111 2a00:1450:4001::1") {
		if !isPublic(netip.MustParseAddr(ip)) {
			t.Errorf("%s is not public", ip)
		}
	}
}

func TestWhatAnOperatorAllows(t *testing.T) {
	t.Parallel()
	a, err := ParseAllowed([]string{"10.0.0.0/8", "127.0.0.1:8080", "[::1]:9", "192.168.1.7", "Wiki.Example", "api.example:8443", "::ffff:172.16.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]bool{
		"10.1.2.3:80": true, "10.1.2.3:443": true, "10.1.2.3:22": false, "11.0.0.1:80": true, "11.0.0.1:8080": false,
		"127.0.0.1:8080": true, "127.0.0.1:80": false, "127.0.0.1:8081": false, "127.0.0.2:8080": false,
		"[::1]:9": true, "[::1]:80": false, "192.168.1.7:443": true, "192.168.1.8:443": false,
		"172.16.0.1:80": true, "[::ffff:10.0.0.1]:80": true, "169.254.169.254:80": false, "[fe80::1%eth0]:80": false,
	} {
		if got := a.address(netip.MustParseAddrPort(to)); got != want {
			t.Errorf("%s: %v, want %v", to, got, want)
		}
	}
	for name, want := range map[string]bool{"wiki.example": true, "WIKI.example.": true, "a.wiki.example": false, "example": false, "api.example": false} {
		if got := a.name(name, 443); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if !a.name("api.example", 8443) || a.name("wiki.example", 8443) {
		t.Error("a port is allowed with a name, and no other one")
	}
}

func TestWhatCannotBeAllowed(t *testing.T) {
	t.Parallel()
	_, err := ParseAllowed([]string{"", "http://wiki.example", "10.0.0.0/33", "wiki:0", "wiki:99999", "a b", "*.example", "fe80::1%eth0", "::ffff:10.0.0.0/104", "ok.example"})
	if err == nil {
		t.Fatal("no error")
	}
	if n := strings.Count(err.Error(), "want"); n != 9 {
		t.Errorf("%d of 9 are told of: %v", n, err)
	}
}
