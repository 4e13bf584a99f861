# A thermostat that is made of curl: once a minute a write and a long poll, each with a process of its own.
token=$(curl -sS -d "id=$1" "$PLATFORM_URL/provision/activate")
while :; do
    curl -sS -w '%{http_code}\n' -H "X-Platform-CIK: $token" -d temperature=21 "$PLATFORM_URL/onep:v1/stack/alias"
    curl -sS -H "X-Platform-CIK: $token" -H 'Request-Timeout: 50000' "$PLATFORM_URL/onep:v1/stack/alias?setpoint"
    sleep 10
done
