# What ecs-check-restart reads of Consul: checks and instances of all services, on all nodes, and its own documents. It
# writes nothing there. All of it is needed and nothing more, which a test shows against a real Consul
# (test/contracts/consul-credentials.test.ts): a token without the first or the second sees a healthy estate for ever.

node_prefix "" {
  policy = "read"
}

service_prefix "" {
  policy = "read"
}

# The policy document (POLICY_KEY).
key "ecs-check-restart/policy" {
  policy = "read"
}

# For reconcile-proxies only (PROXY_KEY_PREFIX, PROXY_DEFAULTS_KEY); `list` instead of `read` below the prefix where Consul
# runs with acl.enable_key_list_policy.
key_prefix "ecs-check-restart/proxies/" {
  policy = "read"
}

key "ecs-check-restart/proxy-defaults" {
  policy = "read"
}
