load common

@test "--version names the program" {
  run "$EXITPATH_BIN" --version
  [ "$status" -eq 0 ]
  [[ "$output" == "exitpath "[0-9]* ]]
}
